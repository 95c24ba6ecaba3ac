"""The command line: `assent …`."""
