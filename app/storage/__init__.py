"""The only home of SQL. Everything here takes a `Tx` first and never commits."""
