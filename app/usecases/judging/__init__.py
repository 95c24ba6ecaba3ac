"""What hooks and rules say of a call."""
