"""Words: how a shell takes a text apart, what a word may come out as, and the commands that are made of words."""
