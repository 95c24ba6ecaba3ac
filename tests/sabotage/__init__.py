"""Sabotage: what a test must notice is done on purpose, one thing at a time, on a copy of the checkout."""
