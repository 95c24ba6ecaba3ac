"""Assent as an MCP server: people are asked at the wish of the agent itself."""
