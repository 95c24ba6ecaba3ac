"""Rows of what was spent, and to whom."""
