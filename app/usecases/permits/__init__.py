"""Permissions given beforehand: standing approvals and break-glass."""
