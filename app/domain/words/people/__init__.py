"""What is said to people about themselves."""
