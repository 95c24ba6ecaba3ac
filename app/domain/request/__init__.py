"""The durable question: what is asked of whom, and what they said."""
