"""A small ledger service: accounts, payments, and an HTTP API that pays once for each idempotency key."""
