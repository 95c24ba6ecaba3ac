"""Programs to read and to run: an agent that pays, and the demo that it plays in."""
