"""Indexes of large catalogs on disk, so that a catalog that has not changed is not indexed again.

One file per catalog and set of weights, named by a hash of both and of the code that makes indexes. It is readable by its
owner only, is replaced as a whole, and starts with a checksum; a file that cannot be read is ignored. Nothing depends on it:
every error means that the index is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
from array import array
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from helmdeck_core import Catalog
from helmdeck_core.log import logger
from helmdeck_language import terms_version
from helmdeck_selection.lexical.index import fields, postings
from helmdeck_selection.lexical.index.postings import Phrase, Postings, Superseded, build, by_beginning
from helmdeck_storage import cache_directory, replace_private_file

_VERSION: Final = 1
# A smaller catalog is indexed in less time than a person notices.
_MIN_ENTRIES: Final = 2_000
_MAX_FILES: Final = 16
_DIGEST_BYTES: Final = 32


class _Stored(msgspec.Struct, array_like=True):
    """``Postings`` as plain data; the entries of each term and their scores are packed arrays."""

    terms: list[str]
    entries: list[bytes]
    scores: list[bytes]
    idf: dict[str, float]
    phrases: dict[str, list[tuple[int, str, tuple[str, ...], float]]]
    verbatim: list[tuple[int, str, tuple[str, ...], float]]
    compounds: dict[str, tuple[str, ...]]
    superseded: list[tuple[int, int, str]]
    verbs: list[str]
    common: list[str]
    unknown_idf: float


def stored_postings(catalog: Catalog, weights: Mapping[str, float], folder: Path | None = None) -> Postings:
    """Return the index of a catalog from its file, or build it and write the file.

    :param folder: instead of the user's cache directory.
    """
    if len(catalog.entries) < _MIN_ENTRIES:
        return _built(_Built(catalog.version, tuple(sorted(weights.items())), catalog, weights))
    path: Path | None = None
    with contextlib.suppress(OSError, RuntimeError):  # no home directory
        path = (folder or cache_directory("lexical")) / f"{_key(catalog, weights)}.bin"
        found = _read(path, catalog, weights)
        if found is not None:
            return found
    made = build(catalog.entries, weights)
    if path is not None:
        with contextlib.suppress(OSError):
            _write(path, made)
    return made


@attrs.frozen
class _Built:
    """What an index is made of; equal if the contents are."""

    version: str
    weighting: tuple[tuple[str, float], ...]
    catalog: Catalog = attrs.field(eq=False)
    weights: Mapping[str, float] = attrs.field(eq=False)


@lru_cache(maxsize=4)  # the decks of a process mostly have the same small catalog
def _built(made_of: _Built) -> Postings:
    return build(made_of.catalog.entries, made_of.weights)


def _key(catalog: Catalog, weights: Mapping[str, float]) -> str:
    made_of = f"{_VERSION} {catalog.version} {len(catalog.entries)} {sorted(weights.items())} {_code()}"
    return hashlib.sha256(made_of.encode()).hexdigest()[:32]


@cache
def _code() -> str:
    """Return a hash of the modules that decide what an index contains."""
    digest = hashlib.sha256(terms_version().encode())
    for module in (fields, postings):
        if module.__file__:
            digest.update(Path(module.__file__).read_bytes())
    return digest.hexdigest()


def _read(path: Path, catalog: Catalog, weights: Mapping[str, float]) -> Postings | None:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, payload = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    try:
        if hashlib.sha256(payload).digest() != digest:
            raise ValueError("wrong checksum")
        return _unpack(msgspec.msgpack.decode(payload, type=_Stored), catalog, weights)
    except (msgspec.MsgspecError, ValueError, TypeError, IndexError) as exc:
        logger().bind(error=f"{type(exc).__name__}: {exc}").warning("the lexical index on disk is ignored")
        return None


def _unpack(data: _Stored, catalog: Catalog, weights: Mapping[str, float]) -> Postings:
    place = list(range(len(catalog.entries))).__getitem__  # one object for each entry, as when an index is built
    impacts = {
        term: dict(zip(map(place, array("I", entries)), array("d", scores), strict=True))
        for term, entries, scores in zip(data.terms, data.entries, data.scores, strict=True)
    }
    return Postings(
        entries=catalog.entries,
        idf=data.idf,
        impacts=impacts,
        phrases={term: tuple([Phrase(*row) for row in rows]) for term, rows in data.phrases.items()},
        verbatim=tuple([Phrase(*row) for row in data.verbatim]),
        compounds=data.compounds,
        superseded=tuple([Superseded(*row) for row in data.superseded]),
        verbs=frozenset(data.verbs),
        common=frozenset(data.common),
        unknown_idf=data.unknown_idf,
        relatives=by_beginning(data.idf),
        weights=weights,
    )


def _write(path: Path, made: Postings) -> None:
    def row(phrase: Phrase) -> tuple[int, str, tuple[str, ...], float]:
        return (phrase.entry, phrase.text, phrase.parts, phrase.worth)

    terms = list(made.impacts)
    data = _Stored(
        terms=terms,
        entries=[array("I", made.impacts[term].keys()).tobytes() for term in terms],
        scores=[array("d", made.impacts[term].values()).tobytes() for term in terms],
        idf=dict(made.idf),
        phrases={term: [row(phrase) for phrase in rows] for term, rows in made.phrases.items()},
        verbatim=[row(phrase) for phrase in made.verbatim],
        compounds=dict(made.compounds),
        superseded=[(pair.pipeline, pair.pack, pair.name) for pair in made.superseded],
        verbs=sorted(made.verbs),
        common=sorted(made.common),
        unknown_idf=made.unknown_idf,
    )
    payload = msgspec.msgpack.encode(data)
    content = hashlib.sha256(payload).digest() + payload
    replace_private_file(path, lambda file: file.write(content))
    _remove_oldest(path.parent)


def _remove_oldest(folder: Path) -> None:
    files: list[Any] = sorted(folder.glob("*.bin"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[_MAX_FILES:]:
        path.unlink(missing_ok=True)
