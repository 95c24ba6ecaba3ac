"""The hook's place in a host's settings: written, taken out, and looked over. No tool call loads any of it."""
