"""Shell texts, read without running anything: `reading.reader.read_script` gives the commands of one."""
