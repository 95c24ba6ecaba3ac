"""Rows of keys and second factors."""
