"""What people say for a tool: a two-tower model that relates everyday wording to entries, without a model server or NumPy.

``features`` has what the model reads of a request and of an entry, ``model`` the vectors. ``benchmarks/meaning`` trains it.
"""
