"""Before anything is a call: connections, and heads that are half there."""
