"""Planning: a request in plain words becomes a validated plan over the catalog, with a model or without one.

- **In**: a request, the selected entries of a catalog, defaults from the history.
- **Out**: steps with tools and arguments, gaps for parts that no entry covers; for routes, one recommendation.
- **Hooks**: ``helmdeck_choosers`` (``ranker``, ``logprobs``), ``helmdeck_packs`` (``helmdeck.plan``, ``helmdeck.route``), ``helmdeck_providers`` (``local/lexical``).
- **Begin** with ``packs.plan`` and ``packs.validation`` (planning with a model), and ``embedded.planner``,
  ``embedded.picks`` and ``embedded.steps`` (without one: parts of the request, choice of entries; arguments).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
