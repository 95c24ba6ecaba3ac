"""The other sections of the file."""
