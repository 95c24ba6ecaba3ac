"""Passkeys: what a browser is asked and answers, and that an answer counts once."""
