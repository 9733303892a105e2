"""One chain of migrations for every database."""
