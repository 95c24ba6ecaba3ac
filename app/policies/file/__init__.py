"""The whole file, read, reloaded and tried."""
