"""YAML with places: every fault has a file and a line."""
