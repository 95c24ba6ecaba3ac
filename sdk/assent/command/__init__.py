"""The parts of `assent-hook`: standard library only, and little of it, because it starts anew for every tool call."""
