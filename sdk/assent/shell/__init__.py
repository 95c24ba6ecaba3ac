"""Reads shell commands without running them: `reader.read_script`, `files.files_touched`."""
