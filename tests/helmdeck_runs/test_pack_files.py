"""``fs.read``, ``fs.write`` and ``fs.list`` never leave the configured folder."""

import os

import pytest

from helmdeck_core import PackError, PackErrorCode
from helmdeck_runs.packs import files


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "workspace"
    (root / "notes").mkdir(parents=True)
    (root / "notes" / "today.txt").write_text("hello", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (tmp_path / "outside").mkdir()
    return root


@pytest.fixture
def run(deck_with, workspace):
    deck = deck_with(config={"packs": {"options": {"fs": {"root": str(workspace)}}}})
    return lambda name, **arguments: deck.run(f"fs.{name}", arguments)


def refused(run, name, **arguments):
    with pytest.raises(PackError) as caught:
        run(name, **arguments)
    assert caught.value.code is PackErrorCode.INVALID_INPUT
    assert "secret" not in caught.value.detail.replace("secret.txt", "")
    return caught.value.detail


def test_without_a_folder_nothing_is_read(deck_with):
    deck = deck_with()
    for name, arguments in (("read", {"path": "a"}), ("write", {"path": "a", "text": ""}), ("list", {})):
        with pytest.raises(PackError, match=r"set root in \[packs.options.fs\]"):
            deck.run(f"fs.{name}", arguments)
        assert deck.catalog.get(f"fs.{name}").source != "packs"


def test_missing_folder_is_a_mistake_of_the_configuration(deck_with, tmp_path):
    deck = deck_with(config={"packs": {"options": {"fs": {"root": str(tmp_path / "missing")}}}})
    with pytest.raises(PackError, match=r"root is no folder: .*missing; create it") as caught:
        deck.run("fs.list", {})
    assert caught.value.code is PackErrorCode.HANDLER_FAILED


def test_files_are_read_written_and_listed(run, workspace):
    assert run("read", path="notes/today.txt") == {"path": "notes/today.txt", "bytes": 5, "text": "hello"}
    assert run("write", path="new/deep/a.txt", text="é") == {"path": "new/deep/a.txt", "bytes": 2, "replaced": False}
    assert (workspace / "new/deep/a.txt").read_text(encoding="utf-8") == "é"
    listed = run("list")
    assert [(entry["name"], entry["kind"]) for entry in listed["entries"]] == [("new", "folder"), ("notes", "folder")]
    (entry,) = run("list", path="./notes/")["entries"]
    assert (entry["name"], entry["kind"], entry["bytes"]) == ("today.txt", "file", 5)
    (workspace / os.fsdecode(b"caf\xe9")).touch()
    assert run("list")["entries"][0]["name"] == r"caf\udce9", "JSON has no text that is not UTF-8"
    assert run("list", path="notes", limit=1)["is_complete"] and not run("list", limit=1)["is_complete"]


def test_files_are_replaced_only_on_request(run, workspace):
    assert "set overwrite" in refused(run, "write", path="notes/today.txt", text="x")
    (workspace / "notes/today.txt").chmod(0o640)
    assert run("write", path="notes/today.txt", text="x", overwrite=True)["replaced"] is True
    assert (workspace / "notes/today.txt").read_text() == "x"
    assert (workspace / "notes/today.txt").stat().st_mode & 0o777 == 0o640
    assert [each.name for each in (workspace / "notes").iterdir()] == ["today.txt"], "no draft is left"


ESCAPES = [
    "../secret.txt", "notes/../../secret.txt", "notes/../notes/today.txt", "/etc/passwd", "~/x", "..", "", "notes\\..\\x",
    "a\0b", "....//secret.txt/..", "notes/./../../secret.txt",
]  # fmt: skip


@pytest.mark.parametrize("path", ESCAPES)
def test_paths_that_lead_out_are_refused(run, path, tmp_path):
    refused(run, "read", path=path)
    refused(run, "write", path=path, text="x", overwrite=True)
    refused(run, "list", path=path)
    assert (tmp_path / "secret.txt").read_text() == "secret"


def test_links_are_not_followed(run, workspace, tmp_path):
    (workspace / "file").symlink_to(tmp_path / "secret.txt")
    (workspace / "folder").symlink_to(tmp_path / "outside")
    (workspace / "dangling").symlink_to(tmp_path / "new.txt")
    assert "link" in refused(run, "read", path="file")
    refused(run, "read", path="folder/x")
    refused(run, "write", path="file", text="x", overwrite=True)
    refused(run, "write", path="folder/x.txt", text="x")
    refused(run, "write", path="dangling", text="x")
    refused(run, "write", path="dangling", text="x", overwrite=True)
    refused(run, "list", path="folder")
    assert (tmp_path / "secret.txt").read_text() == "secret" and list((tmp_path / "outside").iterdir()) == []
    assert {entry["name"]: entry["kind"] for entry in run("list")["entries"]}["file"] == "link"


def test_folder_that_becomes_a_link_during_a_call_is_not_followed(run, workspace, tmp_path, monkeypatch):
    original = os.open

    def swapped(path, *arguments, **options):
        if path == "notes":
            (workspace / "notes").rename(workspace / "old")
            (workspace / "notes").symlink_to(tmp_path / "outside")
            monkeypatch.setattr(files.os, "open", original)
        return original(path, *arguments, **options)

    (tmp_path / "outside" / "today.txt").write_text("secret")
    monkeypatch.setattr(files.os, "open", swapped)
    monkeypatch.setattr(files.os, "supports_dir_fd", {swapped})
    refused(run, "read", path="notes/today.txt")


def test_special_files_are_refused(run, workspace):
    os.mkfifo(workspace / "pipe")
    assert "not a regular file" in refused(run, "read", path="pipe")
    assert "not a regular file" in refused(run, "write", path="pipe", text="x", overwrite=True)
    refused(run, "read", path="notes")
    refused(run, "read", path="missing.txt")
    refused(run, "list", path="notes/today.txt")


def test_size_is_limited_and_binary_files_are_refused(run, workspace, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 10)
    (workspace / "large.txt").write_text("x" * 11)
    assert "larger than 10 bytes" in refused(run, "read", path="large.txt")
    assert "larger than 10 bytes" in refused(run, "write", path="new.txt", text="x" * 11)
    (workspace / "image.png").write_bytes(b"\x89PNG\xff")
    assert "not UTF-8" in refused(run, "read", path="image.png")


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.csv", "x,y\n1,2\n", [{"x": "1", "y": "2"}]),
        ("a.tsv", "x\ty\n1\t2\n", [{"x": "1", "y": "2"}]),
        ("a.json", '[{"x": 1}]', [{"x": 1}]),
        ("a.jsonl", '{"x": 1}\n\n{"x": 2}\n', [{"x": 1}, {"x": 2}]),
    ],
)
def test_rows_of_tables(run, workspace, name, content, rows):
    (workspace / name).write_text(content)
    assert run("read", path=name, format="rows")["rows"] == rows
    (workspace / "bad.json").write_text('{"x": 1}')
    assert "no rows" in refused(run, "read", path="bad.json", format="rows")
