"""Indexes of large catalogs on disk: never required, never trusted."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import attrs
import pytest

from helmdeck_core import Catalog
from helmdeck_selection.lexical.index import stored
from helmdeck_selection.lexical.index.postings import Postings
from helmdeck_selection.lexical.index.stored import stored_postings
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from helmdeck_selection.lexical.weights import LEXICAL_WEIGHTS
from helmdeck_storage import cache_directory

REQUEST = "find the orders of last week and send a message"


def entries(extra: str = "") -> dict[str, Any]:
    packs = [
        {"name": "order.find", "description": f"Find orders. {extra}", "metadata": {"intent_keywords": ["last week"]}},
        {"name": "message.send", "description": "Send a message.", "metadata": {"limitations": ["no pictures"]}},
        {"name": "getWeather", "description": "查询天气预报"},
    ]
    pipelines = [{"id": "report", "description": "Report orders.", "metadata": {"supersedes": ["order.find", "it"]}}]
    return {"packs": packs, "pipelines": pipelines}


@pytest.fixture(autouse=True)
def _small_catalogs_are_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stored, "_MIN_ENTRIES", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of entries of each index that was built."""
    found: list[int] = []
    build = stored.build

    def counted(entries: Any, weights: Any) -> Postings:
        found.append(len(entries))
        return build(entries, weights)

    monkeypatch.setattr(stored, "build", counted)
    return found


def files() -> list[Path]:
    return sorted(cache_directory("lexical").iterdir())


def test_an_unchanged_catalog_is_indexed_once(builds: list[int]) -> None:
    catalog = Catalog.from_data(entries(), "test")
    rankings = [LexicalIndex(catalog, stored=True).rank(REQUEST).scores for _ in range(3)]
    assert builds == [4]
    assert rankings[0] == rankings[1] == LexicalIndex(catalog).rank(REQUEST).scores


def test_an_index_from_disk_equals_the_one_that_was_written() -> None:
    catalog = Catalog.from_data(entries(), "test")
    made, found = (stored_postings(catalog, LEXICAL_WEIGHTS) for _ in range(2))
    assert attrs.asdict(made, recurse=False) == attrs.asdict(found, recurse=False)


def test_other_content_and_other_weights_have_other_files(builds: list[int]) -> None:
    LexicalIndex(Catalog.from_data(entries(), "test"), stored=True)
    LexicalIndex(Catalog.from_data(entries("Quickly."), "test"), stored=True)
    LexicalIndex(Catalog.from_data(entries(), "test"), stored=True, name=3.0)
    assert len(builds) == len(files()) == 3


@pytest.mark.parametrize(
    "content", [b"", b"x" * 100, b"\0" * 32 + b"\x91\x01"], ids=["empty", "text", "wrong checksum"]
)
def test_a_damaged_file_is_ignored_and_replaced(builds: list[int], content: bytes) -> None:
    catalog = Catalog.from_data(entries(), "test")
    expected = LexicalIndex(catalog, stored=True).rank(REQUEST).scores
    files()[0].write_bytes(content)
    assert LexicalIndex(catalog, stored=True).rank(REQUEST).scores == expected
    assert LexicalIndex(catalog, stored=True).rank(REQUEST).scores == expected
    assert len(builds) == 2


def test_a_truncated_file_is_ignored(builds: list[int]) -> None:
    catalog = Catalog.from_data(entries(), "test")
    LexicalIndex(catalog, stored=True)
    files()[0].write_bytes(files()[0].read_bytes()[:-10])
    LexicalIndex(catalog, stored=True)
    assert len(builds) == 2


@pytest.mark.skipif(os.name != "posix", reason="permissions of files are those of POSIX")
def test_files_are_readable_by_their_owner_only() -> None:
    LexicalIndex(Catalog.from_data(entries(), "test"), stored=True)
    assert [stat.S_IMODE(path.stat().st_mode) for path in files()] == [0o600]
    assert stat.S_IMODE(cache_directory("lexical").stat().st_mode) == 0o700


def test_a_directory_that_cannot_be_written_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert LexicalIndex(Catalog.from_data(entries(), "test"), stored=True).rank(REQUEST).scores[0].score > 0


def test_old_files_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_MAX_FILES", 2)
    for number in range(4):
        LexicalIndex(Catalog.from_data(entries(f"Number {number}."), "test"), stored=True)
    assert len(files()) == 2


def test_small_catalogs_are_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_MIN_ENTRIES", 2_000)
    LexicalIndex(Catalog.from_data(entries(), "test"), stored=True)
    assert not cache_directory("lexical").exists()
