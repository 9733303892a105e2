"""Run a command without what root may do beside the permissions: `mortal.py COMMAND...`; LIMIT bounds its files.

Root ignores the modes of files by two capabilities. Taken out of the bounding set they don't survive the next exec, and
root is held to the modes of its own files like anybody. Whoever isn't root hasn't got them, and may not take them out.
"""

import ctypes
import os
import resource
import sys

PR_CAPBSET_DROP = 24  # linux/prctl.h
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2  # linux/capability.h

if os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            sys.exit(f"mortal: {os.strerror(ctypes.get_errno())}")
if limit := os.environ.get("LIMIT"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - a test's own command
