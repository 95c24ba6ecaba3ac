"""Rows of standing approvals and of broken glass."""
