"""Routes for agents: hooks, requests, waits, claims, outcomes."""
