"""HTTP: parse, call a use case, present. No decision is made here."""
