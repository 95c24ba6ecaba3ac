"""What proves that an approval is a person's own."""
