"""How people prove who they are: passkeys, and those who sign them in elsewhere."""
