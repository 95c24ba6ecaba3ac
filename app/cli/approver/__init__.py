"""Commands of people who decide: they speak HTTP, with a person's key."""
