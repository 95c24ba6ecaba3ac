"""The console: what its pages show, and what is pressed on them."""
