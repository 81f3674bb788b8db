"""What people say for a tool: a two-tower model that relates everyday wording to entries, without a model server or NumPy.

``features`` has what the model reads of a request and of an entry, ``model`` the vectors, and ``acts`` what a sentence asks for: nothing, a look-up
or a change. ``benchmarks/meaning`` trains both.
"""
