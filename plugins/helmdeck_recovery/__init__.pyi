# The public names. This list is the only one: __init__.py reads it at run time, type checkers read it as a stub.
