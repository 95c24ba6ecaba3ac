"""The client: the gateway as an object, its words as values, and what may go wrong."""
