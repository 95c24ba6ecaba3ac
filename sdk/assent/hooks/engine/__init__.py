"""How hooks are run: who is asked in which order, within which time, and how their verdicts come together."""
