"""The kind of work of a call: task, answer, size and script, from coarse to fine. It contains no text of the request."""

from __future__ import annotations

import bisect
import functools
import unicodedata

from helmdeck_core import ChainRequest

SIZES = (1_000, 8_000, 32_000, 128_000)
"""Upper bounds of the size classes of a request, in bytes."""

CATALOGS = (1, 25, 100)
"""Upper bounds of the size classes of a catalog, in entries: none, up to 24, up to 99, more."""

SAMPLE = 160
"""Characters from which the script is read."""

Kind = tuple[str, ...]
"""Names from coarse to fine; a prefix is a coarser kind, and the empty tuple is all work."""


def kind_of(request: ChainRequest) -> Kind:
    """Return the kind of work of a call: task and answer, then size classes, then the script of the language.

    >>> from helmdeck_chains import kind_of
    >>> from helmdeck_core import ChainRequest
    >>> kind_of(ChainRequest(models=("acme/large",), pack="ask", size_bytes=900, sample="draft a post"))
    ('ask:text', 'size0:catalog0', 'ascii')
    """
    size = f"size{bisect.bisect_right(SIZES, request.size_bytes)}"
    catalog = f"catalog{bisect.bisect_right(CATALOGS, request.catalog_entries)}"
    return f"{request.pack or 'chat'}:{request.answer}", f"{size}:{catalog}", script_of(request.sample)


def script_of(text: str) -> str:
    """Return the script of the first letter that is not ASCII, in lower case, or ``ascii``."""
    sample = text[:SAMPLE]
    if sample.isascii():
        return "ascii"
    return next((_script(char) for char in sample if not char.isascii() and char.isalpha()), "ascii")


@functools.lru_cache(maxsize=1_024)
def _script(char: str) -> str:
    return unicodedata.name(char, "unknown").partition(" ")[0].lower()
