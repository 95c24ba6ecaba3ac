"""What runs beside the API: loops that a supervisor starts, watches, and stops in order."""
