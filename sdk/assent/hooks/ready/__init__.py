"""Hooks that are ready to use and need nothing beyond the client; the guards of shell and paths are `assent.guards`."""
