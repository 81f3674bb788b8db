"""``helmdeck completion``: the words that are completed, and the scripts in real shells."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys

import pytest

from helmdeck_cli.commands.completion import complete, split_line
from tests.case_support import each_case
from tests.cli_support import Cli, environment, leave_the_machine

PLUGIN = """
from helmdeck_core import Command, hookimpl


def configure(parser):
    parser.add_argument("colour", choices=["red", "green:dark", "green:light"])
    parser.add_argument("--shade", choices=["dark", "light"], help="the shade")
    parser.add_argument("--paint", metavar="FILE")


@hookimpl
def helmdeck_commands():
    return [Command(name="acme paint", summary="paint it", group_summary="tools of Acme", configure=configure, run=print)]
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path, autoload=True)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def acme(installed_plugin):
    return installed_plugin("acme", {"acme": "acme_plugin"}, {"acme_plugin": PLUGIN})


def values(*words):
    return [value for value, _ in complete(words).candidates]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pl"], ["plan", "plugins"]),
        (["plugins", ""], ["list", "show", "new"]),
        (["--json", "catalog", "ch"], ["check"]),
        (["--log-level", "DEBUG", "catalog", "ch"], ["check"]),
        (["--trace"], ["--traceback"]),
        (["--log-level", "W"], ["WARNING"]),
        (["plan", "--mo"], ["--model"]),
        (["plan", "--model", "local/"], ["local/lexical"]),
        (["plan", "--model=local/"], ["--model=local/lexical"]),
        (["budgets", "local/"], ["local/lexical"]),
        (["plan", "some", "words", "--def"], ["--default"]),
        (["plan", "--", "--mo"], []),
        (["plan", "anything"], []),
        (["decode", "--shape", ""], ["object", "list"]),
        (["models", "openr"], ["openrouter"]),
        (["plugins", "show", "lex"], ["lexical"]),
        (["plugins", "new", "tr"], ["transport", "trim-step"]),
        (["plan", "--disable-plugin", "lex"], ["lexical"]),
        (["run", "helmdeck.r"], ["helmdeck.route"]),
        (["hooks", "helmdeck_comm"], ["helmdeck_commands"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["acme", ""], ["paint"]),
        (["acme", "paint", "r"], ["red"]),
        (["acme", "paint", "red", "--shade", ""], ["dark", "light"]),
        (["acme", "paint", "red", "x"], []),
        (["no-such-command", ""], []),
        ([""], None),
    ],
)
def test_commands_options_and_values_are_completed_also_those_of_plugins(acme, words, expected):
    found = values(*words)
    assert found == expected if expected is not None else {"plan", "doctor", "acme", "catalog"} <= set(found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_a_string_in_json(cli, shell):
    assert json.loads(cli("completion", shell, "--json").out)["script"] + "\n" == cli("completion", shell).out


def test_candidates_have_the_summaries_of_commands_and_the_help_of_options(acme):
    assert dict(complete(["acme"]).candidates) == {"acme": "tools of Acme"}
    assert dict(complete(["acme", "pa"]).candidates) == {"paint": "paint it"}
    assert dict(complete(["acme", "paint", "--sh"]).candidates) == {"--shade": "the shade"}


@pytest.mark.parametrize(
    "words",
    [["catalog", "check", ""], ["plan", "--document", "x"], ["--config", ""], ["acme", "paint", "--paint", "x"]],
)
def test_files_are_left_to_the_shell(acme, words):
    assert complete(words).takes_files


def test_default_and_fallback_models_are_completed(tmp_path):
    (tmp_path / "other.toml").write_text(
        'model = "acme/one"\n[fallback]\n"" = ["acme/two"]\n[providers.acme]\nkind = "vllm"\n'
    )
    assert values("--config", "other.toml", "plan", "--model", "acme/") == ["acme/one", "acme/two"]


def test_invalid_configuration_and_broken_plugins_leave_the_commands(cli, installed_plugin, tmp_path):
    installed_plugin("broken", {"broken": "broken_plugin"}, {"broken_plugin": "raise SystemExit(1)"})
    (tmp_path / "helmdeck.toml").write_text("model = = 3")
    assert cli("completion", "--complete", "bash", "--", "helmdeck docto") == (0, "words\ndoctor\n", "")
    assert cli("completion", "--complete", "zsh", "--", "plan", "--model", "l") == (0, "words\n", "")


@each_case(
    ("line", "words"),
    [
        ("helmdeck", [""]),
        ("helmdeck ", [""]),
        ("helmdeck plan  --mo", ["plan", "--mo"]),
        ("helmdeck plan ", ["plan", ""]),
        ("helmdeck plan 'a b' x", ["plan", "a b", "x"]),
        ("helmdeck plan 'a b", ["plan", "a b"]),
        ('helmdeck plan "a b', ["plan", "a b"]),
    ],
)
def test_line_of_bash_is_split_into_words(line, words):
    assert split_line(line) == words


def test_bash_gets_what_follows_the_last_colon_or_equals_sign(cli, acme):
    def completions(line):
        return cli("completion", "--complete", "bash", "--", f"helmdeck {line}").out.split()[1:]

    assert completions("acme paint green:") == ["dark", "light"]
    assert completions("plan --model=local/l") == ["local/lexical"]


# -- real shells -------------------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path, acme):
    """Start a shell that finds ``helmdeck`` and the plugin; skips where it is not installed."""

    def find(name):
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        program = tmp_path / "bin" / "helmdeck"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m helmdeck_core.cli "$@"\n')
        program.chmod(0o755)
        env = environment(acme, HOME=str(tmp_path), TERM="dumb", PATH=f"{program.parent}:{os.environ['PATH']}")
        script = subprocess.run([program, "completion", name], env=env, capture_output=True, check=True, timeout=60)
        (tmp_path / "script").write_bytes(script.stdout)
        return path, env

    return find


CASES = [
    ("helmdeck catalog sho", "helmdeck catalog show"),
    ("helmdeck plan --contex", "helmdeck plan --context"),
    ("helmdeck plan --model=local/lex", "helmdeck plan --model=local/lexical"),
    ("helmdeck acme paint green:l", "helmdeck acme paint green:light"),
    ("helmdeck catalog check my-cat", "helmdeck catalog check my-catalog.json"),
]


@pytest.mark.parametrize(("name", "flags"), [("bash", ["--norc", "--noprofile", "-i"]), ("zsh", ["-f", "-i"])])
def test_tab_completes_in_a_real_terminal(shell, tmp_path, name, flags):
    path, env = shell(name)
    (tmp_path / "my-catalog.json").write_text("[]")
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [path, *flags], cwd=tmp_path, env=env, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True
    )
    os.close(terminal)
    shown = b""

    def wait_for(pattern):
        nonlocal shown
        while (match := re.search(pattern, shown)) is None:
            ready, _, _ = select.select([main], [], [], 60)
            assert ready, shown
            shown += os.read(main, 65_536)
        shown = shown[match.end() :]
        return match

    try:
        os.write(main, b"PS1='REA''DY> '; source ./script; echo LOAD''ED\n")
        wait_for(rb"\nLOADED\r?\n")
        for typed, expected in CASES:
            wait_for(b"READY> ")
            # Ctrl-A goes to the start of the line, so that the line is printed instead of executed.
            os.write(main, typed.encode() + b"\t\x01echo RESULT: \n")
            found = wait_for(rb"\nRESULT: ([^\r\n]*)\r?\n")[1].decode()
            assert found.strip().replace("\\", "") == expected
    finally:
        process.kill()
        process.wait()
        os.close(main)


def test_fish_completes_words_with_descriptions(shell, tmp_path):
    path, env = shell("fish")
    (tmp_path / "my-catalog.json").write_text("[]")
    lines = [*(typed for typed, _ in CASES), "helmdeck pl"]
    program = "source ./script; " + "; ".join(f"complete -C '{line}'; echo ==" for line in lines)
    done = subprocess.run([path, "--no-config", "-c", program], cwd=tmp_path, env=env, capture_output=True, timeout=120)
    groups = [group.strip().splitlines() for group in done.stdout.decode().split("==\n")]
    found = [[line.split("\t")[0] for line in group] for group in groups]
    assert found[:-2] == [[expected.split()[-1]] for _, expected in CASES]
    assert found[-2] == ["plan", "plugins"]
    assert "plan\tturn a request into a validated plan over the catalog" in groups[-2]
