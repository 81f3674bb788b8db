"""Files that only their owner can read, replaced as a whole."""

import os
import stat
import threading

import pytest

from helmdeck_storage import cache_directory, create_private_file, replace_private_file


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="permissions of files are those of POSIX")
def test_files_and_their_folders_are_for_the_owner_only(tmp_path):
    before = os.umask(0o022)
    try:
        create_private_file(tmp_path / "a" / "empty")
        create_private_file(tmp_path / "b" / "secret", b"content")
        replace_private_file(tmp_path / "c" / "cache", lambda file: file.write(b"content"))
    finally:
        os.umask(before)
    assert [mode(tmp_path / each) for each in ("a", "b", "c")] == [0o700] * 3
    assert [mode(tmp_path / each) for each in ("a/empty", "b/secret", "c/cache")] == [0o600] * 3


def test_file_that_exists_is_not_created_again(tmp_path):
    assert create_private_file(tmp_path / "secret", b"first")
    assert not create_private_file(tmp_path / "secret", b"second")
    assert not create_private_file(tmp_path / "secret")
    assert (tmp_path / "secret").read_bytes() == b"first"
    assert [each.name for each in tmp_path.iterdir()] == ["secret"]


def test_threads_that_create_a_file_at_once_agree_on_its_content(tmp_path):
    created = []
    threads = [
        threading.Thread(target=lambda n=n: created.append(create_private_file(tmp_path / "secret", b"%d" % n)))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(created) == 1 and len(list(tmp_path.iterdir())) == 1


def test_failed_replacement_leaves_the_file_as_it_was(tmp_path):
    def fail(file):
        file.write(b"half")
        raise OSError("no space left")

    replace_private_file(tmp_path / "cache", lambda file: file.write(b"whole"))
    with pytest.raises(OSError, match="no space left"):
        replace_private_file(tmp_path / "cache", fail)
    assert (tmp_path / "cache").read_bytes() == b"whole"
    assert [each.name for each in tmp_path.iterdir()] == ["cache"]


def test_cache_is_in_the_directory_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("vectors") == tmp_path / "helmdeck" / "vectors"
