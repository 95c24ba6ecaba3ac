"""The database as a door: dialects, lanes, group commit, transactions. It knows no table."""
