"""`python -m onetake` is `onetake`."""

from onetake.cli import main

main()
