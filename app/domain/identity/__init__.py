"""Keys and seals: who may call us, and what proves that a token is ours."""
