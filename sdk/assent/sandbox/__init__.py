"""Sandboxes: where a tool call runs that a hook routed away; `providers.Sandboxes` holds them by name."""
