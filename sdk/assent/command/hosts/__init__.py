"""What there is to know about each agent program: one row a host, how its events are read and its answers written."""
