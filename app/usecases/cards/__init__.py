"""What a request's cards show, and how they get there."""
