"""Values of the file that are wrong, and files that are none: each is told in our words, with its mend."""
