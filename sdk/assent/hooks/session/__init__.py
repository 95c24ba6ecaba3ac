"""A run of an agent: the facade, the session with its moments, and each tool call of it."""
