"""What goes over the wire: bodies, views, errors, and who a key belongs to."""
