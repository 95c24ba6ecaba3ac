"""The commands about rules: what answers a call and why, what would run, and cases that must hold."""
