"""The gateway: serves a deck with the APIs of OpenAI, Anthropic and Gemini, so that existing clients only change a URL.

- **In**: HTTP requests of chat, Responses, Messages, generateContent, embeddings, rankings; keys with limits.
- **Out**: responses and streams in the client's dialect, metrics, spend per key.
- **Hooks**: ``helmdeck_commands`` (``helmdeck serve``, ``helmdeck keys``, ``helmdeck teams``, ``helmdeck import litellm``),
  ``helmdeck_event_sinks``, ``helmdeck_secret_patterns``.
- **Begin** with ``app`` (routes of the ASGI application), ``settings`` (``[gateway]``), ``endpoints.calls`` (one request),
  ``dialects`` (reading and writing), ``calls.service`` (one call of the deck), ``accounts`` (keys, limits, spend),
  ``sign_in`` (tokens of issuers), ``imports`` (configurations of other gateways), ``conversations`` (what is remembered of them),
  ``batches`` (requests in the background, and files),
  ``stores`` (where it is kept), ``load`` (fair shares, overload), ``http_server`` (processes, reload, metrics).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
