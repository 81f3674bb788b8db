"""The HTTP transports: ``httpx``, and the names of those that are distributions of their own."""
