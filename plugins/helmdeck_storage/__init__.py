"""Storage in SQLite, PostgreSQL and Redis: history, the gateway, traces and runs declare their tables and queries on it.

In goes a URL (``sqlite:PATH``, ``postgresql://...``, ``redis://...``) and a ``Schema``: the tables, their version, and the upgrades
from earlier versions. Out comes a ``Database``, whose ``session()`` is a transaction; ``GroupCommit`` shares one among many callers.
``AsyncPostgresDatabase``, ``RedisServer`` and ``AsyncRedisServer`` are for capabilities that compute inside the server.

The package owns connections and their reuse, waiting for locks, lost connections, forks, permissions of files, versions of schemas,
and errors without secrets (``StorageError``). It has no tables of its own, and implements no hooks. ``StorageContract`` in
``helmdeck_storage.contract`` is the suite that all stores pass. Begin with ``schema.py``, then ``database.py`` and ``sqlite.py``.
"""

from functools import cache
from importlib import import_module
from pathlib import Path


@cache
def _modules() -> dict[str, str]:
    """The defining module of each public name, read from lines such as ``from helmdeck_storage.x import Y as Y``."""
    lines = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
    imports = [line.split() for line in lines if line.startswith("from ")]
    return {words[3]: words[1] for words in imports}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_modules())
    if name.startswith("__") or name not in _modules():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_modules()[name]), name)
    globals()[name] = value
    return value
