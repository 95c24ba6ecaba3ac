"""What the file says, and what it answers for one call."""
