"""From a verified click to its answer: which card, which person, and what they asked for."""
