"""Values in a request: dates, URLs, paths, numbers, quoted strings."""
