"""The gateway: serves a deck with the APIs of OpenAI and Anthropic, so that existing clients only change a URL.

- **In**: HTTP requests of chat, Responses, Messages, embeddings; keys with limits.
- **Out**: responses and streams in the client's dialect, metrics, spend per key.
- **Hooks**: ``helmdeck_commands`` (``helmdeck serve``, ``helmdeck keys``), ``helmdeck_event_sinks``, ``helmdeck_secret_patterns``.
- **Begin** with ``app`` (the ASGI application), ``endpoints.calls`` (one request), ``dialects`` (reading and writing),
  ``calls.service`` (one call of the deck), ``accounts`` (keys, limits, spend), ``stores`` and ``serving`` (processes).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
