"""Words, and the reading of requests: what a person asked for, apart from what was pasted with it.

- **In**: the text of a request, in any language; names and descriptions of a catalog.
- **Out**: terms and their stems, clauses with weights, the request apart from a document, values such as dates and paths.
- **Hooks**: none; the ranker and the planner build on it.
- **Begin** with ``request`` (text to clauses), ``layout`` (request or document), ``values`` (dates, URLs, paths) and
  ``text`` (words and stems). What words mean is data: ``synonyms``, ``verb_classes``, ``languages``.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
