"""What people look for: over several tables, newest first, each look bounded."""
