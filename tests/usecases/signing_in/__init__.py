"""Signing in, and what signs for others."""
