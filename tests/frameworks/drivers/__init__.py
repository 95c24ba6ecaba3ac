"""One small program a framework: run by that framework's own environment, they import nothing of the gateway."""
