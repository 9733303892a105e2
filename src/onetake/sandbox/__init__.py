"""A provider simulator: real HTTP, real pictures and clips, seeded faults, and a truthful bill.

It speaks reAPI's wire format (as documented in November 2026) and stands for somebody else's machine: it imports
nothing of the product, and has its own time and chance. `python -m onetake.sandbox --help` shows what it can do.

    POST /api/v1/images/generations     a picture drawn from the prompt
    POST /api/v1/videos/generations     a clip that moves its first frame
    GET  /api/v1/tasks/{id}             how a task stands
    GET  /v1/models                     what the key may use
    GET  /files/{name}                  an output, under a signed address that expires
    GET  /_bill  /_stats  /_faults      the truth, counters, and what can go wrong
"""

from onetake.sandbox.faults import FAULTS, Fault
from onetake.sandbox.options import SandboxOptions, Span
from onetake.sandbox.server import Sandbox, serve

__all__ = ["FAULTS", "Fault", "Sandbox", "SandboxOptions", "Span", "serve"]
