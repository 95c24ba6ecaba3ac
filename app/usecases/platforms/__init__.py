"""Channels at work: who has which account, who is in which group, what is announced."""
