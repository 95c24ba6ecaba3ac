"""Conditions as texts: their parts, their spelling, and how much work they are."""
