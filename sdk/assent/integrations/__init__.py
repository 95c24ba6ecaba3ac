"""Adapters, one a framework, each behind an extra of its name: `assent[langgraph]` and so on."""
