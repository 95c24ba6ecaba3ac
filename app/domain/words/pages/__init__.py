"""What the pages of the console say beside those on which people decide."""
