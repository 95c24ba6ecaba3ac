"""Alembic's entry: runs the steps on the connection that `migrations.run` hands over."""

from __future__ import annotations

from alembic import context

from app.storage.tables.tables import whole_metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=whole_metadata(),
    transaction_per_migration=True,
    transactional_ddl=True,
    on_version_apply=context.config.attributes["applied"],
    compare_type=True,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
