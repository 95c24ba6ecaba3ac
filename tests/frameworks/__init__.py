"""Agents of every framework, driven through the gate by scripted models."""
