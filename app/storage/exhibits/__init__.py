"""The content of the files that calls bring along, apart from the request that names them by their SHA-256."""
