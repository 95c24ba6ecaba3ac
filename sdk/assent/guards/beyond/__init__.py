"""Rules on what reaches beyond the machine: code that comes in, secrets that go out, acts in a person's name."""
