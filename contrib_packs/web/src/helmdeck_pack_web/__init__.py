"""The packs ``web.scrape``, which reads given pages, and ``web.search``, which searches a folder of files.

- **In**: URLs of pages and of files below the folder; a query.
- **Out**: texts with their URLs; URLs with titles and snippets, the best match first.
- **Hooks**: ``helmdeck_packs``.
- **Begin** with ``scrape`` and ``search``; ``files`` has the rules on which files are read.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Pack, hookimpl
from helmdeck_pack_web.scrape import scrape
from helmdeck_pack_web.search import search


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The packs."""
    return (search, scrape)
