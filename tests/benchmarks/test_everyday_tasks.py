"""The programs of docs/benchmarks/ask.md: those for Helmdeck run, and the table counts the lines of all."""

import re

import pytest

from benchmarks.ask.__main__ import OWN_SERVER, PAGE, TASKS, TEXT, lines_of, programs
from benchmarks.ask.contestants import CONTESTANTS
from helmdeck_testing import OPENAI_CHAT

PROGRAMS = programs(PAGE)


def test_the_page_has_a_program_for_every_task_and_library():
    assert set(PROGRAMS) == {(task, name) for task in TASKS for name in CONTESTANTS}


def test_the_table_counts_the_lines_of_the_programs():
    text = PAGE.read_text(encoding="utf-8")
    for task, title in TASKS.items():
        numbers = " | ".join(str(lines_of(PROGRAMS[task, name])) for name in CONTESTANTS)
        assert re.search(rf"^\| {title} \| {re.escape(numbers)} \|$", text, re.MULTILINE), title


@pytest.mark.parametrize("task", TASKS)
def test_the_program_for_helmdeck_runs(task, failing_server, tmp_path, monkeypatch, capsys):
    server = failing_server(OPENAI_CHAT, lambda _: "good", text=TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("HELMDECK_PLUGINS__AUTOLOAD", "false")
    monkeypatch.setenv("HELMDECK_PROVIDERS__OPENAI__BASE_URL", server.base_url)
    names = {"__name__": "__main__"}
    exec(PROGRAMS[task, "helmdeck"].replace(OWN_SERVER, server.base_url), names)
    if "deck" in names:
        names["deck"].close()
    assert capsys.readouterr().out.strip() in ("3", TEXT)
