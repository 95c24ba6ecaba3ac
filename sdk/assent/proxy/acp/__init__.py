"""The proxy between an editor and a coding agent that speak the Agent Client Protocol."""
