"""Unmodified agents correct a file over the gateway and a weak model that fails at every step."""
