"""What a disk does to a SQLite file: an fsync that fails, a power cut between any two writes."""
