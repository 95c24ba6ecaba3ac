"""Who somebody is: how they sign in, what proves it, and where they are signed in."""
