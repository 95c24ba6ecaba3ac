"""Who may decide a request at this instant."""
