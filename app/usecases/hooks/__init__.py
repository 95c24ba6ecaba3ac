"""Which hooks run, what they remember, what is kept of them."""
