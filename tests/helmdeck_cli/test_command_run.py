"""``helmdeck run``: the output on standard output, facts about it on standard error."""

import json

import pytest

from helmdeck_cli.commands.run import progress_text
from helmdeck_core import PackError, ProgressText, hookimpl
from helmdeck_core.cli import main
from helmdeck_core.cli.exit_codes import ExitCode
from helmdeck_runs import pack


@pack("t.write")
async def write(context, strict: bool = False) -> dict:
    """Write a file."""
    context.progress("writing", 0.25)
    print("noise of the pack")  # noqa: T201
    artifact = context.artifacts.write("a.txt", "hello").to_dict()
    output = {"findings": ["too short", {"code": "x"}], "artifacts": [artifact, "odd"], "n": 1}
    if strict:
        raise PackError("t.write", "artifact_failed", "too short", output=output)
    return output


class Packs:
    @hookimpl
    def helmdeck_packs(self):
        return [write]


@pytest.fixture
def run(monkeypatch, tmp_path, capsys, installed_plugin):
    source = "from helmdeck_core import hookimpl\nfrom tests.helmdeck_cli.test_command_run import Packs\nhelmdeck_packs = Packs().helmdeck_packs\n"
    installed_plugin("helmdeck-pack-t", {"t": "installed_t"}, {"installed_t": source})
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def call(*words):
        code = main(["run", "t.write", *words])
        return code, *capsys.readouterr()

    return call


def test_output_findings_and_files_are_shown(run, tmp_path):
    code, out, err = run("--out", "files")
    assert code == 0, err
    assert json.loads(out)["n"] == 1, "what a pack prints is not a part of its output"
    assert "noise of the pack" in err
    assert (tmp_path / "files" / "a.txt").read_text() == "hello"
    assert "finding     too short" in err and 'finding     {"code": "x"}' in err
    assert f"file        {tmp_path / 'files' / 'a.txt'} (5 bytes)" in err
    code, out, _ = run()
    assert str(tmp_path / "data" / "artifacts") in json.loads(out)["artifacts"][0]["path"]


def test_file_in_place_of_the_folder_is_a_usage_error(run, tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    code, out, err = run("--out", "notes.txt")
    assert (code, out) == (2, "") and "argument --out: 'notes.txt' is a file; name a folder" in err


def test_inputs_are_listed_if_those_of_a_call_do_not_match(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["run", "blog.draft", "--input", "tone=loud"]) == ExitCode.USAGE
    inputs = 'brief (string, required), notes (string), tone ("expert" or "friendly" or "neutral")'
    assert f"inputs      {inputs}\n" in capsys.readouterr().err
    assert main(["run", "fs.read", "--input", "path=nowhere.txt"]) != ExitCode.OK
    assert "inputs  " not in capsys.readouterr().err


def test_failed_pack_shows_its_output_beside_the_error(run):
    code, out, err = run("--input", "strict=true")
    assert code != ExitCode.OK and json.loads(out)["findings"][0] == "too short"
    assert "artifact_failed: too short" in err and "file        " in err
    code, out, err = run("--input", "strict=true", "--json")
    assert json.loads(out or err)["error"]["output"]["n"] == 1


def test_progress_line_shows_the_finished_share():
    assert progress_text(ProgressText("writing", 0.25)) == "writing (25%)"
    assert progress_text("writing") == progress_text(ProgressText("writing")) == "writing"
