"""The command ``helmdeck cache``."""
