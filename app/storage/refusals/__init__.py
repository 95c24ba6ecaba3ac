"""Rows of what was denied before, and of what was lifted."""
