"""One tool under all its names."""
