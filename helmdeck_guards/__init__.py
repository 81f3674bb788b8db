"""Guards against input from outside: bounded checks of JSON Schema, redaction of secrets, and deadlines.

The package imports nothing of the project; the core and the kits build on it.
"""
