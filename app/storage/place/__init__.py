"""Where the database is: its address, and the files around it, which are their owner's alone."""
