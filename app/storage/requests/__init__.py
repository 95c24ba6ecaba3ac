"""Rows of requests: written, locked, read back, found when they are due."""
