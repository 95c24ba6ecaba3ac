"""What whoever runs it sees: figures, and lines of a log."""
