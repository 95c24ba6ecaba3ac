"""Which hooks run for whom: from an org's file to a registry of the engine."""
