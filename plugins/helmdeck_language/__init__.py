"""Words, and the reading of requests: what a person asked for, apart from what was pasted with it.

- **In**: the text of a request, in any language; names and descriptions of a catalog.
- **Out**: terms and their stems, clauses with weights, the request apart from a document, values such as dates and paths.
- **Hooks**: none; the ranker and the planner build on it.
- **Begin** with ``request.reading`` (text to clauses), ``request.layout`` (request or document), ``values.scanner`` (dates, URLs,
  paths), ``text.terms`` (words and stems) and ``meanings.lexicon`` (what words mean).

::

    text       words -> stems and terms          request_words.toml: stop words, polite words
      |
    languages  which language, English verbs     en.toml, de.toml, fr.toml, es.toml, function_words.toml
    meanings   synonyms, everyday, stems         synonyms.toml, everyday*.toml, verb_classes.toml, languages/stems/*.toml
      |
    request    sentences -> request or document  cues.toml, segmentation.json
               -> clauses, translated
    values     dates, URLs, paths, numbers       dates.toml

Word lists are TOML files beside the code that reads them; ``text.word_files`` reads and checks them.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
