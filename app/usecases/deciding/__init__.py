"""What people do to a request: decide, change, consult, extend, withdraw."""
