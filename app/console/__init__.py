"""The console: pages on which people look and decide."""
