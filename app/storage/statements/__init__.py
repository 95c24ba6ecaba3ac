"""SQLAlchemy constructs as text for the drivers: one statement, and one for the rows of many units."""
