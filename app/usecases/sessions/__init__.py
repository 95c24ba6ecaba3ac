"""Agents' sessions, and who stands above whom."""
