"""Files that are written can be read by their owner only; files that are read have an end."""

import os
import stat

import attrs
import pytest

from helmdeck_core import SecretRef, load_config
from helmdeck_history.stores.databases import open_sqlite
from helmdeck_telemetry.traces import TraceSink
from helmdeck_testing import make_deck
from tests.helmdeck_telemetry.observing_support import eventful_deck, eventful_plan

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions of files are those of POSIX")


@pytest.fixture(autouse=True)
def _usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_history_and_the_files_beside_it_are_readable_by_their_owner_only(tmp_path):
    import sqlite3

    store = open_sqlite(tmp_path / "history.db", 1)
    with sqlite3.connect(tmp_path / "history.db") as connection:
        connection.execute("DELETE FROM plan_history")
        connection.commit()
        assert store.plans("ada") == ()
        found = modes(tmp_path)
    assert {"history.db", "history.db-wal", "history.db-shm"} == found.keys()
    assert set(found.values()) == {0o600}
    connection.close()
    store.close()


def test_traces_and_the_files_beside_them_are_readable_by_their_owner_only(tmp_path):
    sink = TraceSink(str(tmp_path / "traces.db"))
    assert sink.traces() == () and modes(tmp_path) == {}
    with eventful_deck("traces", options={"traces": {"file": str(tmp_path / "traces.db")}}) as deck:
        eventful_plan(deck)
    assert sink.traces()
    found = modes(tmp_path)
    sink.close()
    assert "traces.db" in found and set(found.values()) == {0o600}


def test_permissions_of_a_store_that_exists_are_kept(tmp_path):
    path = tmp_path / "history.db"
    path.touch(0o640)
    open_sqlite(path, 1).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_key_file_without_an_end_is_not_read(tmp_path):
    assert SecretRef("file", "/dev/zero").read() is None
    (tmp_path / "key").write_text("k" * 70_000)
    assert SecretRef("file", str(tmp_path / "key")).read() is None
    (tmp_path / "key").write_text(" right-key \n")
    assert SecretRef("file", str(tmp_path / "key")).read() == "right-key"


def test_thousands_of_unknown_keys_are_counted_and_the_first_ones_described(tmp_path, monkeypatch):
    from helmdeck_core.config import structure

    compared = []
    original = structure.did_you_mean
    monkeypatch.setattr(structure, "did_you_mean", lambda *texts: compared.append(texts) or original(*texts))
    path = tmp_path / "helmdeck.toml"
    path.write_text('model = "local/lexical"\n[recovery]\n' + "".join(f"key_{n} = {n}\n" for n in range(3_000)))
    loaded = load_config(file=path)
    assert len(loaded.mistakes) == len(compared) + 1 == structure.MAX_MISTAKES + 1
    assert "one of 2800 further mistakes" in str(loaded.mistakes[-1])
    assert (loaded.config.model, list(loaded.origins)) == ("local/lexical", [("model",)])


def test_types_that_are_made_per_call_are_not_kept():
    decoder = make_deck().runtime.decoder
    for _ in range(600):
        decoder.decode('{"a": 1}', attrs.make_class("Made", {"a": attrs.field(type=int)}))
    assert decoder._reader_of.cache_info().currsize <= 256


def test_input_without_an_end_is_an_error(monkeypatch, tmp_path):
    from helmdeck_cli import inputs, read_input
    from helmdeck_core.cli import UsageError

    monkeypatch.setattr(inputs, "MAX_INPUT_BYTES", 1_000)
    with pytest.raises(UsageError, match="/dev/zero: more than 1,000 bytes, or without an end"):
        read_input("/dev/zero")
    (tmp_path / "fits").write_bytes(b"x" * 1_000)
    assert len(read_input(str(tmp_path / "fits"))) == 1_000
