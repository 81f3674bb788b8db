"""What the entries of a catalog do, and what kind of value each input takes.

``profiles`` reads an entry: its verb, its nouns, its effect. ``schema_inputs`` reads its inputs (``properties``) and gives each a role
(``roles``) by its name, schema and description, with the words of ``property_words`` and the ``units``.
"""
