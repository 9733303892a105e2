"""The command line's fixtures, for chains that run whole."""

from tests.cli.conftest import new_database, origin, shell

__all__ = ["new_database", "origin", "shell"]
