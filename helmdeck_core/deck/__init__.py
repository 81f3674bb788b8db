"""The public entry point, ``Helmdeck``."""
