"""Ring 6: the house itself."""
