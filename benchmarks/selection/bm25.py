"""BM25 by the library bm25s with a stemmer, the peer of the ranker."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any


def is_installed() -> bool:
    """Whether bm25s and PyStemmer can be imported."""
    return all(importlib.util.find_spec(name) for name in ("bm25s", "Stemmer"))


def retriever(texts: Sequence[str], count: int) -> Callable[[str], Sequence[int]]:
    """Index texts; return a function from a query to the places of the best ones."""
    bm25s: Any = importlib.import_module("bm25s")
    stemmer = importlib.import_module("Stemmer").Stemmer("english")

    def tokens(of: str | Sequence[str]) -> Any:
        return bm25s.tokenize(of, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(tokens(texts), show_progress=False)
    return lambda query: index.retrieve(tokens(query), k=count, show_progress=False)[0][0]
