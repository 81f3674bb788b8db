"""The public entry point, ``Helmdeck``, and what it is made of."""
