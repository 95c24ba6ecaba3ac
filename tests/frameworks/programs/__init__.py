"""The real agent programs, offline before a scripted model: the third level of the conformance suite."""
