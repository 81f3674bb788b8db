"""Finished calls as lines of JSON: one file a day, bounded in age and size, without prompts and keys."""

import json
import threading

import pytest

from helmdeck_core import log
from helmdeck_telemetry.request_log import json_lines
from tests.helmdeck_telemetry.observing_support import eventful_deck, eventful_plan, failing_deck, failing_plan


def deck_in(folder, make=eventful_deck, **options):
    return make("jsonl", options={"jsonl": {"folder": str(folder), **options}})


def lines_of(folder):
    return [
        json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text("utf-8").splitlines()
    ]


def test_line_has_the_facts_of_a_call_and_its_attempts_but_no_text_of_it(tmp_path):
    with deck_in(tmp_path) as deck:
        plan = eventful_plan(deck)
    (line,) = lines_of(tmp_path)
    assert (line["call_id"], line["outcome"], line["model"], line["requested"]) == (
        plan.call_id,
        "answered",
        "b/two",
        "a/one",
    )
    assert [each["cause"] for each in line["attempts"]] == [
        "provider_unavailable", "constrained_deadlock", "constrained_deadlock", "",
    ]  # fmt: skip
    assert line["cost_nusd"] == pytest.approx(plan.cost_usd * 1e9) and line["time"].endswith("Z")
    (file,) = tmp_path.glob("*.jsonl")
    assert line["time"][:10] in file.name and "PLANTED" not in file.read_text() and file.stat().st_mode & 0o077 == 0


def test_events_are_an_option_and_odd_strings_are_written(tmp_path):
    with deck_in(tmp_path, failing_deck, events=True) as deck:
        failing_plan(deck)
        with pytest.raises(Exception, match="unknown"):
            deck.plan("draft a blog post", model="unknown/\ud800")
    first, second = lines_of(tmp_path)
    assert first["outcome"] == "auth_failed" and first["events"][-1]["event"] == "call_exhausted"
    assert second["requested"] == "unknown/?"


def test_decks_of_one_folder_append_whole_lines(tmp_path):
    def append(number):
        for each in range(50):
            json_lines._append(tmp_path / "requests-2026-01-01.jsonl", json.dumps([number, each]).encode() + b"\n")

    threads = [threading.Thread(target=append, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lines_of(tmp_path)) == [[number, each] for number in range(4) for each in range(50)]


def test_expired_files_and_the_oldest_beyond_the_size_are_deleted(tmp_path):
    for day in range(1, 9):
        (tmp_path / f"requests-2026-01-0{day}.jsonl").write_text("x" * 100)
    (tmp_path / "other.jsonl").write_text("kept")
    json_lines.purge(tmp_path, 5.0, 250, now_s=1_767_830_400.0)  # 2026-01-08
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "other.jsonl", "requests-2026-01-07.jsonl", "requests-2026-01-08.jsonl",
    ]  # fmt: skip
    json_lines.purge(tmp_path, 0.5, 50, now_s=1_767_830_400.0)
    assert len(list(tmp_path.glob("requests-*"))) == 1


def test_full_disk_leaves_no_part_of_a_line_and_fails_no_call(tmp_path, monkeypatch, capsys):
    write, file = json_lines.os.write, None
    monkeypatch.setattr(json_lines.os, "write", lambda descriptor, data: write(descriptor, data[:10]))
    log.enable("WARNING")
    try:
        with deck_in(tmp_path) as deck:
            assert eventful_plan(deck).steps
            deck.sink("jsonl").flush()
            assert deck.sink("jsonl").dropped == 1
    finally:
        log.disable()
    (file,) = tmp_path.glob("*.jsonl")
    assert file.read_bytes() == b"" and "could not be recorded" in capsys.readouterr().err
