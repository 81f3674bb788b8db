"""The pack ``web.search`` over a folder of files: ranked by BM25, with the full-text index of SQLite."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final

import msgspec

from helmdeck_core import PackContext, PackError, PackErrorCode
from helmdeck_pack_web.files import FileError, WebOptions, documents
from helmdeck_runs import pack

NAME: Final = "web.search"
MAX_TERMS: Final = 50
_TITLE_WEIGHT: Final = 3.0
"""A word of the title counts as much as three of the text."""

_SNIPPET_WORDS: Final = 24
_PASSAGE_WORDS: Final = 64


class Result(msgspec.Struct):
    """A file that was found."""

    url: str
    title: str
    snippet: str


class Results(msgspec.Struct):
    """The best matches first. ``urls`` are those of the results, for ``web.scrape``."""

    results: list[Result]
    urls: list[str]


@pack(
    NAME,
    read_only=True,
    open_world=False,
    description="Search a folder of files and return ranked titles, URLs and snippets.",
    metadata={
        "accepts": ["text"],
        "produces": ["urls", "snippets"],
        "intent_keywords": ["search the web", "look up online", "find sources"],
        "limitations": ["Searches the configured folder, not the public web", "Markdown, text and HTML files"],
    },
    options=WebOptions,
    requires=("folder",),
)
async def search(
    context: PackContext, query: str, max_results: Annotated[int, msgspec.Meta(ge=1, le=30)] = 10
) -> Results:
    """Search the files.

    :param query: words that the files contain; more and rarer ones count more.
    :param max_results: results at most.
    """
    terms = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))[:MAX_TERMS]
    if not terms:
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, "query has no words")
    options: WebOptions = context.options
    try:
        root = options.root(context.folder)
        found = await asyncio.to_thread(_search, root, terms, max_results)
    except FileError as exc:
        raise PackError(NAME, PackErrorCode.HANDLER_FAILED, str(exc)) from None
    if not found:
        # A step that reads the pages of no URL would fail with less to say.
        detail = f"no file of {options.folder!r} contains a word of the query {query[:200]!r}"
        raise PackError(NAME, PackErrorCode.HANDLER_FAILED, detail)
    return Results(found, [each.url for each in found])


def _search(root: Path, terms: list[str], limit: int) -> list[Result]:
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute("CREATE VIRTUAL TABLE files USING fts5(url UNINDEXED, title, body, tokenize='porter unicode61')")
        rows = ((each.url, each.title, each.text) for each in documents(root))
        index.executemany("INSERT INTO files VALUES (?, ?, ?)", rows)
        match = " OR ".join(f'"{term}"' for term in terms)  # \\w+ contains no quote
        found = index.execute(
            "SELECT rowid, url, title FROM files WHERE files MATCH ? ORDER BY bm25(files, 0, ?, 1), url LIMIT ?",
            (match, _TITLE_WEIGHT, limit),
        ).fetchall()
        return [Result(url, title, _snippet(index, row, match)) for row, url, title in found]


def _snippet(index: sqlite3.Connection, row: int, match: str) -> str:
    """Return the best part of a file. SQLite's time for it is quadratic in the matches, so it gets a passage instead of the file."""
    (text,) = index.execute("SELECT body FROM files WHERE rowid = ?", (row,)).fetchone()
    words = re.findall(r"\S{1,300}", text)
    index.execute("CREATE VIRTUAL TABLE passages USING fts5(body, tokenize='porter unicode61')")
    passages = ((" ".join(words[at : at + _PASSAGE_WORDS]),) for at in range(0, len(words), _PASSAGE_WORDS))
    index.executemany("INSERT INTO passages VALUES (?)", passages)
    best = index.execute(
        "SELECT snippet(passages, 0, '', '', '…', ?) FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT 1",
        (_SNIPPET_WORDS, match),
    ).fetchone()
    index.execute("DROP TABLE passages")
    start = " ".join(words[:_SNIPPET_WORDS]) + "…" * (len(words) > _SNIPPET_WORDS)  # the title alone matches
    return str(best[0]) if best is not None else start
