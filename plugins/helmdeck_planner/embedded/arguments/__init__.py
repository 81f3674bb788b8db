"""The values for the inputs of an entry.

``fill`` lists all rules in their order: what has a clear form first, then what a label names, then names and texts, then what other
parts state. A rule asks a ``draft`` for the words of its part, finds the inputs that it is for, and sets them. A draft refuses
values that an input cannot have (``refused``, ``foreign_numbers``), and no word is the value of two inputs.

=================  =============================================================================================================
values             modules
=================  =============================================================================================================
by their form      ``typed_values`` (URLs, mail addresses, SQL), ``paths``, ``file_types``, ``dates``, ``times``, ``zones``,
                   ``currencies``, ``ids``, ``refs`` (branches, repositories), ``screen`` (elements, keys), ``replacement``
numbers            ``numbers``; ``number_words``, ``quantities``, ``stated_numbers`` read them, ``number_fit`` compares them
by words           ``labels`` (a word names the input), ``fields``, ``sides`` ("from", "to"), ``led``, ``quotes``, ``exclusions``
closed lists       ``choices``, ``switches``, ``turned``, ``examples`` of a description, ``described`` (words of a description)
names              ``names``, ``listed`` (several), ``unlabelled_names`` finds and ``proper_names`` sets them, ``name_words``, ``places``, ``addresses``
texts              ``phrases``, ``told``, ``free_text`` (topics), ``queries``, ``results``, ``required_texts``
objects            ``items`` of a list, with ``item_fields``, ``item_words``, ``item_clauses``, ``item_references``; ``objects``
other parts        ``sources``; ``references`` ("it"), ``context``, ``background``; ``enumerations`` repeats a part for several values
what is left       ``only_value``; ``left_values``, ``left_numbers``: two models, for values that no rule uses
=================  =============================================================================================================
"""
