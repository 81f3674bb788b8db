"""Storage in SQLite, PostgreSQL and Redis: history, the gateway, traces and runs declare their tables and queries on it.

In goes a URL (``sqlite:PATH``, ``postgresql://...``, ``redis://...``) and a ``Schema``: the tables, their version, and the upgrades
from earlier versions. Out comes a ``Database``, whose ``session()`` is a transaction; ``GroupCommit`` shares one among many callers.
``AsyncPostgresDatabase``, ``RedisServer`` and ``AsyncRedisServer`` are for capabilities that compute inside the server.

The package owns connections and their reuse, waiting for locks, lost connections, forks, permissions of files, versions of schemas,
and errors without secrets (``StorageError``). It has no tables of its own, and implements no hooks. ``StorageContract`` in
``helmdeck_storage.contract`` is the suite that all stores pass. Begin with ``schema.py``, then ``database.py`` and ``sqlite.py``.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
