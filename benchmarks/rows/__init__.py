"""The measures, a file for each kind."""
