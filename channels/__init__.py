"""Ways to reach people: one folder a platform, the same files in every folder."""
