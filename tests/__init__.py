"""The tests, in rings: rules, storage, channels, stories, wire, survival, and the house itself (CONTRIBUTING.md)."""
