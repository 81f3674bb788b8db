"""The commands plan, route and run."""

import io
import json
import re
import shlex
import sys
from argparse import Namespace

import pytest

from helmdeck_cli import request_text
from helmdeck_cli.commands.plan import plan_lines
from helmdeck_core.cli import ExitCode
from helmdeck_core.cli.exit_codes import BY_CAUSE
from helmdeck_core.domain.plans import Complexity, Plan, PlanOutcome, Step
from tests.cli_support import PLUGIN, Cli, leave_the_machine


@pytest.fixture(autouse=True)
def _stub(installed_plugin, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path, autoload=True)
    installed_plugin("stub", {"stub": "stub_plugin"}, {"stub_plugin": PLUGIN})


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def stdin(monkeypatch):
    """Set the standard input of a command."""

    def set_input(text):
        stream = io.TextIOWrapper(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
        monkeypatch.setattr(sys, "stdin", stream)

    return set_input


# -- plan --------------------------------------------------------------------------------------------------


def test_plan_works_without_any_configuration(cli):
    done = cli("plan", "remember this", "and draft a blog post about it")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "local/lexical (full_steps): planned, pack-chain"
    assert lines[2].startswith("  1. ")
    assert "blog.draft" in done.out


def test_plan_shows_steps_trimming_and_usage(cli, monkeypatch):
    monkeypatch.setenv("HELMDECK_SELECTION__FILTER", "false")  # a second call would add its own time
    done = cli("plan", "--model", "stub/step", "hello")
    assert done.code == 0
    assert "stub/step (single_pick): planned, single-action" in done.out
    assert "  1. helmdeck.memory_store\n" in done.out
    assert '     args      {"text": "hello"}\n' in done.out
    assert "     why       requested\n" in done.out
    assert "trimmed     " in done.out
    assert "left out" in done.out
    assert "usage       1.5 s, 1,200 tokens in (1,000 cached), 34 out\n" in done.out
    assert "served by   stub-1" in done.out


def test_plan_as_json_is_the_wire_form_with_latency(cli):
    data = cli("plan", "--model", "stub/step", "hello", "--json").data
    assert [step["tool"] for step in data["steps"]] == ["helmdeck.memory_store"]
    assert {"outcome", "complexity", "compaction", "latency_s", "usage"} <= data.keys()


def test_plan_with_more_steps_shows_the_follow_up_command(cli):
    done = cli("plan", "--model", "stub/more", "it's a", "--done", "web.search=found it", "--caller", "bob", "request")
    assert "first step of several" in done.out
    command = done.out.splitlines()[-1]
    words = [
        "plan",
        "--model",
        "stub/more",
        "--caller",
        "bob",
        "--done",
        "web.search=found it",
        "--done",
        "helmdeck.memory_store=OUTPUT",
    ]
    assert shlex.split(command) == ["helmdeck", *words, "it's a request"]


def test_words_after_two_dashes_are_the_request(cli):
    done = cli("plan", "--json", "--model", "stub/step", "--", "--json", "--model")
    assert done.code == 0
    assert done.data["model"] == "stub/step"


@pytest.mark.parametrize(("model", "outcome"), [("gap", "gap"), ("none", "no_steps")])
def test_plan_without_an_executable_step_is_not_a_success(cli, model, outcome):
    done = cli("plan", "--model", f"stub/{model}", "hello")
    assert done.code == ExitCode.NO_STEP
    assert f"(single_pick): {outcome}" in done.out
    assert "next        " in done.out
    assert cli("plan", "--model", f"stub/{model}", "hello", "--json").data["outcome"] == outcome


def test_gap_is_marked_with_its_reason(cli, tmp_path):
    (tmp_path / "helmdeck.toml").write_text('[budgets."stub/"]\nprompt_variant = "full_steps"\n')
    done = cli("plan", "--model", "stub/two", "hello")
    assert done.code == 0
    assert ": partial, pack-chain" in done.out
    assert "  2. GAP\n" in done.out
    assert "gap:" not in done.out


def test_complete_plan_is_a_success(cli):
    done = cli("plan", "--model", "stub/none", "--done", "web.search=found", "hello")
    assert done.code == 0
    assert "complete" in done.out


def test_executed_step_that_the_catalog_lacks_is_a_usage_error(cli):
    done = cli("plan", "--model", "stub/none", "--done", "web.serch=found", "hello")
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert "the catalog has no entry 'web.serch' (did you mean 'web.search'?)" in done.err


def test_terminal_escapes_in_a_rationale_are_escaped(cli):
    done = cli("plan", "--model", "stub/colour", "hello")
    assert "\x1b" not in done.out
    assert "\\x1b[31mred\\x07" in done.out


def planned(*problems, more=False):
    """The last lines of a plan whose steps have these problems: names of missing arguments, and other problems."""
    steps = tuple(
        Step(
            order=i,
            tool=f"t.{i}",
            problems=tuple(f"$.{name}: required" for name in missing) + others,
            missing=missing,
        )
        for i, (missing, others) in enumerate(problems, 1)
    )
    plan = Plan(
        steps=steps,
        complexity=Complexity.PACK_CHAIN,
        outcome=PlanOutcome.PLANNED,
        rewritten_prompt="",
        reasoning="",
        model="a/b",
        prompt_variant_used="full_steps",
        more_steps_likely=more,
    )
    return [line for line in plan_lines(plan, lambda step: "COMMAND") if line.startswith(("next", "then", "  COMMAND"))]


def test_plan_ends_with_the_missing_arguments(cli):
    done = cli("plan", "remember this and draft a blog post about it")
    assert "     problem   $.text: required property is missing\n" in done.out
    assert done.out.splitlines()[-1] == "next        add the missing arguments: step 1 text; step 2 brief"


def test_step_with_other_problems_is_not_listed_as_incomplete():
    wrong = ("$.n: 'x' is not of type 'integer'",)
    incomplete = planned(((), wrong), ((), ()), (("a", "b.c"), ()))
    assert incomplete == ["next        add the missing arguments: step 3 a, b.c"]
    assert planned((("a",), wrong)) == []
    assert planned(((), ())) == []


def test_nested_missing_arguments_are_named_by_their_path(cli, tmp_path):
    schema = {"type": "object", "required": ["to"], "properties": {"to": {"type": "object", "required": ["id"]}}}
    tool = {"name": "helmdeck.memory_store", "description": "Stores.", "input_schema": schema}
    (tmp_path / "tools.json").write_text(json.dumps({"packs": [tool]}))
    done = cli("plan", "--catalog", "tools.json", "--model", "stub/step", "hello")
    assert done.out.splitlines()[-1] == "next        add the missing arguments: step 1 to"


def test_missing_arguments_come_before_the_follow_up_command():
    lines = planned((("a",), ()), more=True)
    assert [line.split()[0] for line in lines] == ["next", "then", "COMMAND"]
    assert [line.split()[0] for line in planned(((), ()), more=True)] == ["next", "COMMAND"]


@pytest.mark.parametrize("words", [[], ["-"]])
def test_request_is_read_from_standard_input(cli, stdin, words):
    stdin("remember this\n")
    assert cli("plan", *words).code == 0
    stdin(b"remember\nthe caf\xe9")
    done = cli("plan", *words)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert done.err.startswith("helmdeck: standard input: the byte 0xe9 in line 2 is not UTF-8")


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["draft a caf\udce9 post"], "argument REQUEST"),
        (["draft a post", "--context", "caf\udce9"], "argument --context"),
        (["draft a post", "--default", "title=caf\udce9"], "--default"),
        (["draft a post", "--done", "web.search=caf\udce9"], "argument --done"),
    ],
)
def test_text_of_the_command_line_that_is_not_utf8_is_a_usage_error_like_that_of_files(cli, words, place):
    done = cli("plan", *words)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert done.err.startswith(f"helmdeck: {place}: the byte 0xe9 in line 1 is not UTF-8")


def test_text_of_the_command_line_is_read_as_utf8_where_the_locale_is_ascii(cli):
    cafe = "café".encode().decode("ascii", "surrogateescape")  # as Python reads the command line there
    plan = cli(
        "plan", f"summarize {cafe}", "--default", f"brief={cafe}", "--context", cafe, "--done", f"text.diff={cafe}"
    )
    assert plan.code in (0, ExitCode.NO_STEP) and "'summarize café'" in plan.out
    assert cli("run", "text.summarize", "--input", f"text={cafe} is open.", "--json").data["summary"] == "café is open."


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["plan", "--catalog", "odd.toml", "hello"], "not valid TOML"),
        (["plan", "--catalog", "odd.json", "hello"], "not valid JSON"),
        (["--config", "odd.toml", "plan", "hello"], "not valid TOML"),
        (["run", "blog.draft", "--input-file", "odd.toml"], "not valid JSON"),
    ],
)
def test_file_that_is_not_utf8_is_an_error_with_the_line_of_its_first_byte(cli, tmp_path, monkeypatch, words, name):
    monkeypatch.chdir(tmp_path)
    for file in ("odd.toml", "odd.json"):
        (tmp_path / file).write_bytes(b"# tides\n# caf\xe9\n")
    done = cli(*words)
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert f"{name} (the byte 0xe9 in line 2 is not UTF-8)" in done.err


def test_empty_file_of_inputs_is_an_error_that_names_what_is_expected(cli, tmp_path):
    (tmp_path / "in.json").write_text("\n")
    done = cli("run", "blog.draft", "--input-file", str(tmp_path / "in.json"))
    assert done.code == ExitCode.USAGE and "in.json: the file is empty; it must be a JSON object" in done.err


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_empty_request_is_a_usage_error(cli, stdin, text):
    stdin(text)
    for words in ((), ("-",), (text,)):
        done = cli("plan", *words)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("helmdeck: the request is empty; put it in quotes")


def test_request_is_not_read_from_a_terminal(cli, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

        def read(self, size=-1):
            raise AssertionError("the command waits for input")

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert cli("plan").code == 2


def test_documents_precede_the_request(cli, tmp_path):
    (tmp_path / "a.txt").write_text("first\n")
    (tmp_path / "b.txt").write_text("second\n\n")
    arguments = Namespace(request=["do", "it"], document=["a.txt", "b.txt"])
    assert request_text(arguments) == "first\n\nsecond\n\ndo it"
    assert cli("plan", "--document", "a.txt", "remember this").code == 0


def test_empty_document_is_a_warning(cli, tmp_path):
    (tmp_path / "a.txt").write_text(" \n")
    done = cli("plan", "--document", "a.txt", "draft a blog post")
    assert (done.code, done.err) == (0, "helmdeck: warning: a.txt: the document is empty\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--document", "gone.txt", "x"], "gone.txt: the file cannot be read (No such file or directory)"),
        (["--document", ".", "x"], ".: the file cannot be read (Is a directory)"),
        (["--default", "nosign", "x"], "--default takes KEY=VALUE, found 'nosign'"),
        (["--default", "=1", "x"], "--default takes KEY=VALUE, found '=1'"),
        (["--done", "=x", "x"], "--done takes TOOL or TOOL=OUTPUT, found '=x'"),
    ],
)
def test_invalid_option_values_are_usage_errors(cli, words, message):
    assert cli("plan", *words) == (2, "", f"helmdeck: {message}\n")


def test_unknown_provider_error_lists_the_nearest_providers(cli):
    done = cli("plan", "--model", "unknown/x", "hello")
    assert done.code == BY_CAUSE["invalid_request"]
    assert "there is no provider 'unknown'" in done.err
    assert re.search(r"providers: [\w-]+, [\w-]+, [\w-]+ and \d+ more;", " ".join(done.err.split()))
    assert "providers: stub, " in cli("plan", "--model", "stubb/x", "hello").err
    assert "provider/model" in cli("plan", "--model", "unknown", "hello").err


def test_exit_code_of_an_unusable_response_is_its_cause(cli):
    done = cli("plan", "--model", "stub/ ", "hello")
    assert done.code == BY_CAUSE["invalid_request"]
    unreadable = cli("plan", "--model", "stub/I would rather not", "hello")
    assert unreadable.code == BY_CAUSE["constrained_deadlock"]
    assert "helmdeck.plan" in unreadable.err


# -- catalogs ----------------------------------------------------------------------------------------------


def test_catalog_option_replaces_the_configured_sources(cli, tmp_path):
    tools = [{"type": "function", "function": {"name": "ring_bell", "description": "Ring the bell.", "parameters": {}}}]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    data = cli("plan", "--catalog", "tools.json", "ring the bell", "--json").data
    assert [step["tool"] for step in data["steps"]] == ["ring_bell"]


TOOL_SERVER = r'''
"""A tool server as a catalog source: it offers nothing once it is closed."""

from helmdeck_core import Catalog, CatalogSource, hookimpl


class Server:
    def __init__(self, settings):
        self.change = settings.change

    def load(self):
        return Catalog.from_data({"packs": [{"name": "bell.ring", "description": "Ring the bell."}]}, "bell")

    async def run(self, entry_id, arguments, context):
        return {}

    def close(self):
        self.change(Catalog.from_data({"packs": []}, "bell"))


@hookimpl
def helmdeck_catalog_sources():
    return [CatalogSource(name="bell", open=Server)]
'''


def test_tool_of_a_server_is_runnable_although_the_plan_is_printed_after_the_server_closed(cli, installed_plugin):
    installed_plugin("bell", {"bell": "bell_plugin"}, {"bell_plugin": TOOL_SERVER})
    (step,) = cli("plan", "--catalog", "bell", "ring the bell", "--json").data["steps"]
    assert (step["tool"], step["runnable"]) == ("bell.ring", True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "the file cannot be read (No such file or directory)"),
        ("{", "not valid JSON"),
        ('{"x": 1}', "neither packs nor pipelines"),
        ("3", "a catalog is an object, found a number"),
        ('{"packs": [{"name": "a"}, {"name": "a"}]}', "$.packs[1].name: already used by $.packs[0], found 'a'"),
        ('{"packs": [{"name": 1}, 2]}', "2 mistakes"),
    ],
)
def test_invalid_catalog_error_names_the_file(cli, tmp_path, text, message):
    if text is not None:
        (tmp_path / "mine.json").write_text(text)
    for words in (["plan", "hello"], ["route", "hello"], ["catalog", "show"], ["catalog", "compact"]):
        done = cli(*words, "--catalog", "mine.json")
        assert (done.code, done.out) == (2, "")
        assert "the catalog 'mine.json' cannot be used" in done.err
        assert message in done.err
    assert cli("plan", "hello", "--catalog", "mine.json", "--json").data["error"]["mistakes"]


# -- route -------------------------------------------------------------------------------------------------


def test_route_shows_the_recommendation(cli):
    done = cli("route", "--model", "stub/route", "hello")
    assert done.code == 0
    assert done.out.startswith("stub/route: pack web.search\n")
    assert "why         it fits\n" in done.out
    assert cli("route", "--model", "stub/route", "hello", "--json").data["recommendation"]["id"] == "web.search"


def test_route_without_recommendation_is_not_a_success(cli):
    done = cli("route", "zzyzx qwrtp")
    assert done.code == ExitCode.NO_STEP
    assert "nothing in the catalog serves this request" in done.out


def test_route_rejects_empty_request_and_unknown_provider(cli, stdin):
    stdin("")
    assert cli("route").code == 2
    assert cli("route", "--model", "unknown/x", "hello").code == BY_CAUSE["invalid_request"]


# -- run ---------------------------------------------------------------------------------------------------


def test_run_accepts_json_and_string_inputs(cli, tmp_path, stdin):
    (tmp_path / "in.json").write_text('{"n": 1, "kept": [1, 2]}')
    done = cli("run", "stub.echo", "--input-file", "in.json", "--input", "n=2", "--input", "t=a=b", "--input", "w=NaN")
    assert done.data == {"value": {"n": 2, "kept": [1, 2], "t": "a=b", "w": "NaN"}, "model": None}
    stdin('{"n": 5}')
    assert cli("run", "stub.echo", "--input-file", "-", "--model", "a/b").data == {"value": {"n": 5}, "model": "a/b"}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["stub.ehco"], 2, "did you mean 'stub.echo'?"),
        (["stub.echo", "--input", "n=x"], 2, "$.n: 'x' is not of type 'integer'"),
        (["stub.echo", "--input-file", "list.json"], 2, "list.json: not a JSON object, found list"),
        (["stub.echo", "--input-file", "bad.json"], 2, "bad.json: not valid JSON"),
        (["stub.echo", "--input-file", "gone.json"], 2, "gone.json: the file cannot be read"),
        (["stub.fail"], ExitCode.PACK, "stub.fail: handler_failed: ZeroDivisionError: a fault of the pack"),
    ],
)
def test_run_reports_invalid_input_and_failed_packs(cli, tmp_path, words, code, message):
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "bad.json").write_text("{")
    done = cli("run", *words)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
