"""Selection: from the whole catalog to the prompt that one model can answer.

- **In**: a catalog, a request, the budget of a model.
- **Out**: entries in the order of relevance, trimmed to the byte limit; the texts of the prompt.
- **Hooks**: ``helmdeck_catalog_sources``, ``helmdeck_instruction_patterns``, ``helmdeck_trim_steps``, ``helmdeck_rankers``, ``helmdeck_weights``,
  ``helmdeck_prompt_variants``, ``helmdeck_prompt_texts``.
- **Begin** with ``trim_steps`` (the ladder), ``lexical`` (the default ranker: ``index.postings`` builds the index,
  ``scores.word_scores`` scores, ``ranker`` adds values and languages), ``vectors``, ``prompts`` and ``catalogs`` (files).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
