"""The gate around an agent's functions: permissions to run, resuming, and the gateway without an event loop."""
