"""What time brings: due requests, heads of the trail, restores."""
