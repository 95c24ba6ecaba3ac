"""What a hook is: the moments, what it is shown, what it may answer, and what a sandbox must be."""
