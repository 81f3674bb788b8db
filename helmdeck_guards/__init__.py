"""Guards against input from outside: checks of schemas and types, redaction, deadlines, text for terminals, safe files.

The package imports nothing of the project; the core and the kits build on it.
"""
