"""The executor: where tools really run, each behind its idempotency key."""
