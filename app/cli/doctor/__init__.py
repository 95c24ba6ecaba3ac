"""`assent doctor`: what stands, what does not, and how to mend it."""
