"""What a person sees of a request, free of any platform."""
