"""The state machines: one pure step from a request and an event to what follows."""
