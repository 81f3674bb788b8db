"""Storage in SQLite, PostgreSQL and Redis: history, the gateway, traces and runs declare their tables and queries on it.

- **In**: a URL (``sqlite:PATH``, ``postgresql://...``, ``redis://...``) and a ``Schema``: tables, their version, upgrades.
- **Out**: a ``Database`` whose ``session()`` is a transaction, ``GroupCommit`` for many callers, clients for event loops, private
  files; errors without secrets (``StorageError``). Connections, locks, forks, permissions and versions are handled here.
- **Hooks**: none; it has no tables of its own.
- **Begin** with ``schema`` (tables and upgrades), ``database`` (the interface), ``sqlite`` and ``postgres`` (connections),
  ``redis_server``, and ``contract`` (the test suite that SQLite, PostgreSQL and Redis pass).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
