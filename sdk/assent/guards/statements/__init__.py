"""Statements of databases: as their programs read them, and what of them ends data."""
