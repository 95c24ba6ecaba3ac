"""Feishu and Lark: approval cards in a group chat, clicks by webhook or long connection."""
