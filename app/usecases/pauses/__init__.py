"""The kill switch: what must not run, and what waits under it."""
