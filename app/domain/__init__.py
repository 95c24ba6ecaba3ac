"""Words and rules of approval. Pure: no I/O, no clock, no logging, no framework."""
