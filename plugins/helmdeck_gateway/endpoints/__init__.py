"""The ASGI endpoints, one module for each kind of request."""
