"""The tables, and the triggers that guard them."""
