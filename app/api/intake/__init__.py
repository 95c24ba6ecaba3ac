"""What comes before a route: connections, heads that are half there, and what every call passes first."""
