"""Slack: cards as Block Kit messages, clicks by webhook or Socket Mode."""
