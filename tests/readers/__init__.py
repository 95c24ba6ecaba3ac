"""What agents send, against everything that reads it: how much one call may cost."""
