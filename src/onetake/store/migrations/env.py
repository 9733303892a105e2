"""Run by Alembic with a connection that `store.migrate` opened and put into the configuration."""

from alembic import context

from onetake.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=False)
with context.begin_transaction():
    context.run_migrations()
