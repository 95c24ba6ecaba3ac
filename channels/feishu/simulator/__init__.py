"""A stand-in of Feishu for tests and the demo: it speaks the platform's HTTP, and refuses what the platform refuses."""
