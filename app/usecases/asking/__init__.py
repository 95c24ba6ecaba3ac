"""A call comes in: answered at once, or opened as a request."""
