"""Programs: what those that are known do with their operands: files, code, output, other programs."""
