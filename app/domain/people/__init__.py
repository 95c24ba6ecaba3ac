"""Who may be asked, when they work, and how sure we are that it is they."""
