"""The parts of the path guard: which paths a call means, and which of them are protected."""
