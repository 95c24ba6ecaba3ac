"""The Assent gateway: it holds an agent's tool call until the right people have answered."""
