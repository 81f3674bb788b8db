"""Files that packs write: safe names, limits, their owner's alone, and never over another file."""

import hashlib
import os
import stat

import pytest

from helmdeck_core import ArtifactError, ArtifactFolder, PackError, PackErrorCode, hookimpl, safe_name
from helmdeck_core.artifacts import MAX_ARTIFACTS, artifact_folder
from helmdeck_runs import pack


def test_artifact_has_path_size_hash_and_media_type(tmp_path):
    folder = ArtifactFolder(tmp_path / "new" / "folder")
    artifact = folder.write("picture.svg", "<svg/>")
    assert artifact.path == tmp_path / "new" / "folder" / "picture.svg"
    assert artifact.to_dict() == {
        "path": str(artifact.path),
        "bytes": 6,
        "sha256": hashlib.sha256(b"<svg/>").hexdigest(),
        "media_type": "image/svg+xml",
    }
    assert stat.S_IMODE(artifact.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.folder.stat().st_mode) == 0o700
    assert folder.write("data.no-such-type", b"\0").media_type == "application/octet-stream"
    assert folder.written[0] == artifact and len(folder.written) == 2


def test_existing_files_are_never_replaced(tmp_path):
    (tmp_path / "a.txt").write_text("mine")
    folder = ArtifactFolder(tmp_path)
    assert [folder.write("a.txt", text).path.name for text in ("1", "2")] == ["a-2.txt", "a-3.txt"]
    assert (tmp_path / "a.txt").read_text() == "mine"
    (tmp_path / "b.txt").symlink_to(tmp_path / "elsewhere")
    assert folder.write("b.txt", "x").path.name == "b-2.txt" and not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    "name",
    ["", "..", "../a", "a/b", "/etc/passwd", "a\\b", ".hidden", "-rf", "a\0b", "a b", "é.txt", "a" * 101, "con", "NUL.txt", "a..b", "a.", "a\n"],
)  # fmt: skip
def test_unsafe_names_are_refused(tmp_path, name):
    with pytest.raises(ArtifactError, match="is not safe"):
        ArtifactFolder(tmp_path).write(name, "x")
    assert list(tmp_path.iterdir()) == []


def test_size_and_number_of_artifacts_are_limited(tmp_path):
    folder = ArtifactFolder(tmp_path, max_bytes=10)
    folder.write("a.txt", "123456")
    with pytest.raises(ArtifactError, match="at most 10 bytes"):
        folder.write("b.txt", "12345")
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"], "no part of the refused file is left"
    many = ArtifactFolder(tmp_path / "many")
    for number in range(MAX_ARTIFACTS):
        many.write(f"{number}.txt", "")
    with pytest.raises(ArtifactError, match=f"at most {MAX_ARTIFACTS} artifacts"):
        many.write("one-more.txt", "")


def test_files_are_copied_but_no_links_and_pipes(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"x" * 600_000)
    folder = ArtifactFolder(tmp_path / "out")
    assert folder.write("a.bin", source).bytes == 600_000
    (tmp_path / "link").symlink_to(source)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "missing"):
        with pytest.raises(ArtifactError):
            folder.write("b.bin", tmp_path / name)


def test_folder_without_configuration_is_a_new_one_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    one, other = artifact_folder(None).folder, artifact_folder(None).folder
    assert one != other and one.parent == other.parent == tmp_path / "artifacts"
    assert artifact_folder("out", tmp_path).folder == tmp_path / "out"
    assert artifact_folder(str(tmp_path / "x"), tmp_path / "base").folder == tmp_path / "x"


@pytest.mark.parametrize(
    ("text", "name"), [("The New Model!", "the-new-model.svg"), ("../../x", "x.svg"), ("日本", "image.svg")]
)
def test_names_are_made_of_texts(text, name):
    assert safe_name(text, ".svg", "image") == name


def test_refused_artifact_is_the_failure_of_the_pack(deck_with, tmp_path):
    @pack("t.write")
    async def write(context, name: str) -> dict:
        """Write a file."""
        return {"artifacts": [context.artifacts.write(name, "x").to_dict()]}

    class Packs:
        @hookimpl
        def helmdeck_packs(self):
            return [write]

    deck = deck_with(Packs(), config={"packs": {"artifacts": str(tmp_path)}})
    assert deck.run("t.write", {"name": "a.txt"})["artifacts"][0]["path"] == str(tmp_path / "a.txt")
    with pytest.raises(PackError) as caught:
        deck.run("t.write", {"name": "../a.txt"})
    assert caught.value.code is PackErrorCode.ARTIFACT_FAILED
    (tmp_path / "file").write_text("")
    with pytest.raises(PackError) as caught:
        deck_with(Packs(), config={"packs": {"artifacts": str(tmp_path / "file")}}).run("t.write", {"name": "a.txt"})
    assert caught.value.code is PackErrorCode.ARTIFACT_FAILED


def test_artifact_is_opened_in_binary_mode_where_the_system_has_a_text_mode(tmp_path, monkeypatch):
    flags = []
    open_file = os.open
    monkeypatch.setattr(os, "O_BINARY", os.O_APPEND, raising=False)  # a flag of Windows; another one stands for it here
    monkeypatch.setattr(os, "open", lambda path, flag, mode=0o777: (flags.append(flag), open_file(path, flag, mode))[1])
    ArtifactFolder(tmp_path).write("a.bin", b"1\n2")
    assert flags[0] & os.O_BINARY
