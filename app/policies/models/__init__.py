"""The file's shape, as it is written."""
