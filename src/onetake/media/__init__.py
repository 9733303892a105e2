"""Files: fetched, decoded in a child process, measured, kept under their digest.

Import the modules themselves; nothing is imported here, because the decoding child must stay small.
"""
