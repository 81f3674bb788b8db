"""The entry for each part of a request."""
