"""docs/pictures/job-life.svg: a recorded journal, drawn as `onetake explain JOB --svg FILE` draws it.

The journal beside it is of a real run of the recipe `still-to-clip` against the sandbox, which was told to lose the
answer to the first order; a person attached the id eleven minutes later.
"""

import json

from onetake.cli.timeline import picture
from tools.page import PICTURES, publish

recorded = json.loads((PICTURES / "job-life.json").read_text())
publish("job-life.svg", picture(recorded["job"], recorded["journal"]), folder=PICTURES)
