"""The sections that say when people are asked, and whom."""
