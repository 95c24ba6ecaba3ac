"""One contract, two databases."""
