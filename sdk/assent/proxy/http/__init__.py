"""The proxy in front of a server that speaks streamable HTTP."""
