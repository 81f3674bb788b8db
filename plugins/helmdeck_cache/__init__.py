"""Response caches: equal requests of one tenant are answered once, and the answer is used again.

- **In**: calls of a deck with a tenant; ``[cache]``.
- **Out**: stored answers, whole or as a stream, at no cost; equal calls at the same time share one request to the provider.
- **Hooks**: ``helmdeck_response_caches``, ``helmdeck_commands``.
- **Begin** with ``cached_deck`` (calls that use caches), ``request_keys`` (what makes two requests equal), ``usable_answers`` (what is
  stored), ``flights`` (calls under way), ``stores`` (memory, SQLite, Redis) and ``settings`` (``[cache]``).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
