"""Rows of requests: written, locked, read back, known again, found when they are due."""
