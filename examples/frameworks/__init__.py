"""One clerk a framework, who asks before it pays; docs/agents.md tells about them."""
