"""Commands of who runs the gateway: they work beside it, on its database."""
