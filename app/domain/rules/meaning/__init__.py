"""What a condition says and whoever wrote it did not mean, told before any call."""
