"""From `assent.yaml` to a checked, compiled policy."""
