"""Rules on what is a person's own: work and data that nothing brings back, traces, and words to the world."""
