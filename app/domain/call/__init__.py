"""A call of a tool as an agent reports it, and what the file says of the tool."""
