"""What is over and old: found, and removed with all that hangs on it."""
