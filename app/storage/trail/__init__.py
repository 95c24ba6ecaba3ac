"""Rows of the trail: the chain, its heads, versions of the file, restores."""
