"""Hooks as a file declares them, and how a declaration becomes a hook."""
