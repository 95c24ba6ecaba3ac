"""Reading: from a text, by the grammar, through branches, functions and texts within texts, to its commands."""
