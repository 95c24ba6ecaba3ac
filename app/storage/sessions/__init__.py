"""Rows of agents' sessions, switches and counters."""
