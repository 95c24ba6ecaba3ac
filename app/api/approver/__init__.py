"""Routes for people with a personal key."""
