"""Amounts, exactly: how they are read, compared and written."""
