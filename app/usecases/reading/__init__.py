"""What may be looked at: requests, waits, streams, the review page, keys."""
