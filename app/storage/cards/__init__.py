"""Rows of what goes out: cards where they are, the outbox, whom nobody can reach."""
