"""What the adapters stand on: one gate for both colours of a framework, suspended calls, and what a model is told."""
