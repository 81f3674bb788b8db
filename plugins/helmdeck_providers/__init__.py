"""Providers: wire formats, transports, streams, stop reasons, prices, and the budgets of models.

- **In**: a ``ChatRequest``, and the settings of a provider: URL, keys, timeouts.
- **Out**: ``ChatDelta`` and ``ChatResponse`` with normalised stop reasons and usage, or a typed failure.
- **Hooks**: ``helmdeck_providers``, ``helmdeck_transports``, ``helmdeck_routers``, ``helmdeck_stop_reasons``, ``helmdeck_prices``,
  ``helmdeck_budget_rows``, ``helmdeck_model_budget``, ``helmdeck_tier_defaults``, ``helmdeck_secret_patterns``.
- **Begin** with ``wire_formats`` (one package for each API), ``http`` (the provider that they share, drawn in its docstring),
  ``transports`` (connections), ``schemas`` (JSON Schema in the dialects of servers), ``routing`` (several keys and servers of one
  provider). Data: ``wire_formats.openai_chat.presets`` (servers), ``wire_formats.*.stop_reasons``, ``wire_formats.error_codes``,
  ``budgets.rows``, ``key_formats``.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
