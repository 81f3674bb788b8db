"""The documentation is up to date: generated output, example programs, links and commands."""

import asyncio
import importlib
import json
import re
import shlex
import sys
import tomllib
import types
from pathlib import Path

import pytest

from helmdeck_core import (
    Attempt,
    AuthFailed,
    ChatRequest,
    ConstrainedDeadlock,
    DecodeFailed,
    FailureClass,
    InvalidRequest,
    LengthTruncated,
    Message,
    ProviderUnavailable,
    RateLimited,
    ResponseFormat,
    Role,
    SafetyFiltered,
    StopReason,
    TextPart,
    Tier,
    TransientUnknown,
    TrimStep,
)
from helmdeck_core.cli import UsageError, failure_lines
from helmdeck_core.cli.options import command_parser
from helmdeck_core.cli.registry import CommandRegistry
from helmdeck_core.cli.runner import split
from helmdeck_core.config.types import PluginsConfig
from helmdeck_testing import Chunks, make_deck, provider_settings
from tests.case_support import each_case

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"

# The generator and the examples are imported as top-level modules, as in docs/generate.py.
sys.path += [str(DOCS), str(EXAMPLES)]
generate = importlib.import_module("generate")
reference_pages = importlib.import_module("reference_pages")
consoles = importlib.import_module("consoles")

REGISTRY = CommandRegistry.load(PluginsConfig(autoload=False))
COMMANDS = REGISTRY.commands
OTHERS_COMMANDS = {"acme sync", "acme", "catalog stats"}
"""Commands of the examples on the pages."""

HAND_WRITTEN = generate.written_by_hand()
PAGES = [
    *sorted(DOCS.rglob("*.md")),
    *(
        path
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "hookspecs.md")
        if (path := ROOT / name).is_file()
    ),
    *sorted(ROOT.glob("contrib_*/*/README.md")),
    *sorted(ROOT.glob("benchmarks/*.md")),
]


def named(paths):
    return [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in paths]


def example(name):
    return importlib.import_module(name)


# -- generated output ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", reference_pages.REFERENCE)
def test_reference_page_is_up_to_date(name):
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert written == reference_pages.REFERENCE[name](), "run: python docs/generate.py --write"


def test_reference_has_no_other_pages():
    assert {path.name for path in (DOCS / "reference").iterdir()} == set(reference_pages.REFERENCE)


@pytest.mark.parametrize("path", named(HAND_WRITTEN))
def test_programs_and_output_on_a_page_are_up_to_date(path):
    written = path.read_text(encoding="utf-8")
    assert written == consoles.render(written), "run: python docs/generate.py --write"


# -- example programs ------------------------------------------------------------------------------------------


def test_every_example_is_on_a_page():
    included = set()
    for path in HAND_WRITTEN:
        included |= set(re.findall(r"<!-- (?:example|output): (\S+) -->", path.read_text(encoding="utf-8")))
    assert included == {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".mjs")}


FILES_ON_PAGES = [
    pytest.param({"toml": tomllib, "json": json}[match["language"]], match["body"], id=f"{path.name}-{number}")
    for path in HAND_WRITTEN
    for number, match in enumerate(consoles.BLOCK.finditer(path.read_text(encoding="utf-8")), 1)
    if match["language"] in ("toml", "json")
]


@each_case(("reader", "text"), FILES_ON_PAGES)
def test_files_on_a_page_can_be_parsed(reader, text):
    assert reader.loads(text) is not None


def test_package_on_the_provider_page_has_a_helmdeck_entry_point():
    text = (DOCS / "how-to" / "write-a-provider.md").read_text(encoding="utf-8")
    project = tomllib.loads(re.search(r"```toml\n(\[build-system\].*?)^```", text, re.DOTALL | re.MULTILINE)[1])
    assert project["project"]["entry-points"]["helmdeck"] == {"acme": "acme_provider"}
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["include"] == ["acme_provider.py"]
    assert example("acme_provider").helmdeck_providers.helmdeck_impl


@pytest.fixture
def provider_deck(chat_server, deck_with, monkeypatch):
    """Call the example provider; its server returns ``answer``."""
    monkeypatch.setenv("ACME_API_KEY", "sk-acme")

    def ask(answer, **more):
        server = chat_server(lambda body: answer)
        base_url = server.base_url.removesuffix("/v1")
        once = {"recovery": {"max_attempts": 1}, "agent": {"continuation_max_attempts": 0}}
        config = {"providers": {"acme": {"base_url": base_url, "api_key": "env:ACME_API_KEY", **more}}, **once}
        deck = deck_with(example("acme_provider"), config=config)
        return deck, server

    return ask


PLAN = '{"steps": [{"tool": "blog.draft", "args": {"brief": "b"}}]}'


def test_provider_constrains_the_model_to_the_offered_schema_and_reports_a_rejected_one(provider_deck, deck_with):
    strict = {"budgets": {"acme/small": {"tier": "A", "wants_strict_json": True}}}
    held = deck_with(example("acme_provider"), config=strict).explain("draft a post", model="acme/small").constraint
    assert (held.kind, held.form, held.lost) == ("json_schema", "arguments", ("maxItems", "minItems"))
    deck, server = provider_deck({"output": PLAN, "why": "done"})
    wanted = ResponseFormat("json_schema", "a", held.schema)
    words = (Message(Role.USER, (TextPart("x"),)),)
    response = deck.complete(ChatRequest(model="acme/small", messages=words, response_format=wanted))
    assert server.requests[0].body["shape"] == held.schema and response.constraint == "json_schema"
    with pytest.raises(InvalidRequest) as caught:
        provider_deck((422, {}, {}))[0].complete(
            ChatRequest(model="acme/small", messages=words, response_format=wanted)
        )
    assert caught.value.sub_cause == "schema_refused"


def test_provider_sends_prompt_and_key_and_reads_the_response(provider_deck):
    deck, server = provider_deck({"output": PLAN, "why": "done", "read": 9, "written": 3, "model": "small-1"})
    plan = deck.plan("draft a post", model="acme/small")
    assert [step.tool for step in plan.steps] == ["blog.draft"]
    assert (plan.served_model, plan.usage.input_tokens, plan.usage.output_tokens) == ("small-1", 9, 3)
    (request,) = server.requests
    assert (request.path, request.headers["x-acme-key"]) == ("/generate", "sk-acme")
    assert request.body["limit"] == deck.budget("acme/small").budget.max_tokens
    assert "draft a post" in request.body["prompt"]


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        ((401, {}, {}), AuthFailed),
        ((429, {"retry-after": "7"}, {}), RateLimited),
        ((500, {}, {}), TransientUnknown),
        ((200, {}, "<html>"), TransientUnknown),
        ({"error": "out of memory"}, TransientUnknown),
        ({"output": "", "why": "refused"}, SafetyFiltered),
        ({"output": PLAN[:20], "why": "limit"}, LengthTruncated),
        ({"output": PLAN[:20], "why": "done"}, ConstrainedDeadlock),
    ],
)
def test_provider_raises_the_cause(provider_deck, answer, failure):
    deck, _ = provider_deck(answer)
    with pytest.raises(failure) as caught:
        deck.plan("draft a post", model="acme/small")
    assert caught.value.provider in ("acme", "")
    assert caught.value.retry_after_s == (7.0 if failure is RateLimited else None)


def test_provider_reports_an_unreachable_server(deck_with, monkeypatch):
    monkeypatch.setenv("ACME_API_KEY", "sk-acme")
    config = {"providers": {"acme": {"base_url": "http://127.0.0.1:1"}}, "recovery": {"max_attempts": 1}}
    deck = deck_with(example("acme_provider"), config=config)
    with pytest.raises(ProviderUnavailable):
        deck.plan("draft a post", model="acme/small")


def stream_of(chat_server, *events):
    """Return the deltas and the model list of the streaming example for these events."""
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()
    chunks = [body[:9], body[9:30], body[30:]]
    server = chat_server(lambda body: Chunks(chunks) if body else (200, {}, '["small", "large"]'))
    context = types.SimpleNamespace(
        normalise_stop=lambda raw, _: StopReason.END_TURN if raw == "done" else StopReason.UNKNOWN
    )
    settings = provider_settings("acme-stream", base_url=server.base_url, api_key=lambda: "sk-acme")
    request = ChatRequest(model="acme-stream/small", messages=(Message(Role.USER, (TextPart("hello"),)),))

    async def run():
        provider = example("acme_stream").AcmeStream(settings, context)
        try:
            return [each async for each in provider.stream(request)], await provider.models()
        finally:
            await provider.aclose()

    return asyncio.run(run())


def test_streaming_provider_yields_deltas_then_the_response_and_lists_models(chat_server):
    (*deltas, response), models = stream_of(chat_server, {"output": "hel"}, {"output": "lo"}, {"why": "done"})
    assert [delta.text for delta in deltas] == ["hel", "lo"]
    assert (response.text, response.stop_reason) == ("hello", StopReason.END_TURN)
    assert [model.id for model in models] == ["small", "large"]


def test_streaming_provider_invents_no_clean_end_and_does_not_trust_http_200(chat_server):
    (*_, response), _ = stream_of(chat_server, {"output": "hel"})
    assert (response.text, response.stop_reason) == ("hel", StopReason.UNKNOWN)
    with pytest.raises(TransientUnknown, match="out of memory"):
        stream_of(chat_server, {"output": "hel"}, {"error": {"message": "out of memory"}})


def test_provider_invents_no_clean_end(provider_deck):
    deck, _ = provider_deck({"output": PLAN, "why": "tired"})
    assert deck.runtime.normalise_stop("tired", "acme") is StopReason.UNKNOWN
    assert deck.plan("draft a post", model="acme/small").steps


def test_example_commands_run_and_report_usage_errors(monkeypatch, tmp_path, capsys):
    commands = {command.name: command for command in example("acme_commands").helmdeck_commands()}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text(json.dumps({"packs": [{"name": "a.b"}, {"name": "c.d"}]}))

    def run(name, *words):
        return commands[name].run(command_parser(commands[name]).parse_args([*words, "--catalog", "c.json"]))

    assert run("acme sync", "--limit", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"synchronised": ["a.b"]}
    with pytest.raises(UsageError, match="--limit must be at least 1"):
        run("acme sync", "--limit", "0")
    assert run("catalog stats", "--no-plugins") == 0
    assert re.search(r"packs +2\n", capsys.readouterr().out)


def test_trim_step_runs_first_and_returns_the_identical_object_without_examples(deck_with, tmp_path):
    kept = {"intent_keywords": ["a"], "typical_use": "b"}
    data = {"packs": [{"name": "a", "metadata": {"examples": ["x" * 1_000], **kept}}, {"name": "b"}]}
    (tmp_path / "c.json").write_text(json.dumps(data))
    deck = deck_with(
        example("acme_trim"),
        config={
            "catalog": {"sources": [str(tmp_path / "c.json")]},
            "budgets": {"x/": {"max_catalog_bytes": 600}},
        },
    )
    selection = deck.select("anything", model="x/y")
    assert selection.record.dropped == ("acme.examples[]",)
    assert json.loads(selection.text)["packs"] == [{"name": "a", "metadata": kept}, {"name": "b"}]
    entry = deck.catalog.get("b")
    assert example("acme_trim").without_examples(entry, entry.data) is entry.data


@pytest.mark.parametrize("request_text", ["draft a blog post", "", "\x00 漢字", "a " * 5_000])
def test_ranker_scores_every_entry_once_for_any_text(deck_with, request_text):
    deck = deck_with(example("acme_ranker"), config={"selection": {"ranker": "shared-words"}})
    ranking = example("acme_ranker").SharedWords(deck.catalog).rank(request_text)
    assert sorted(score.index for score in ranking.scores) == list(range(len(deck.catalog)))
    assert [(-score.score, score.id) for score in ranking.scores] == sorted((-s.score, s.id) for s in ranking.scores)
    assert len(deck.select(request_text, model="x/y").text.encode()) <= 10_000


def test_budget_row_and_output_limit_apply_and_name_their_plugin(deck_with):
    deck = deck_with(example("acme_budgets"))
    small, large = deck.budget("acme/small-2"), deck.budget("openai/gpt-4o")
    assert (small.budget.tier, small.budget.max_catalog_bytes, small.budget.output_tokens) == (Tier.B, 18_000, 1_200)
    assert "measured by us" in small.budget.evidence
    assert large.budget.output_tokens == example("acme_budgets").MAX_OUTPUT_TOKENS
    assert "acme_budgets" in large.sources["output_tokens"]
    assert max(row.budget.output_tokens for row in deck.budgets()) == example("acme_budgets").MAX_OUTPUT_TOKENS


def test_reasoning_tag_and_decode_step_are_applied(deck_with):
    deck = deck_with(example("acme_reading"))
    decoded = deck.decode('<MUSING>{"a" => 0}</MUSING> {"a" => "x => y"}', dict)
    assert (decoded.value, decoded.repairs) == ({"a": "x => y"}, ("acme.rockets",))
    assert deck.decode('{"a": 1}', dict).repairs == ()


def test_decode_step_never_completes_truncated_text(deck_with):
    decoder = deck_with(example("acme_reading")).runtime.decoder
    with pytest.raises(DecodeFailed) as caught:
        decoder.decode('{"a" => {"b" => 1', dict, StopReason.MAX_TOKENS)
    assert caught.value.cause is FailureClass.LENGTH_TRUNCATED


# -- completeness of the reference -----------------------------------------------------------------------------


def test_reference_contains_every_cause_budget_and_public_name():
    import helmdeck_core

    reference = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "reference").iterdir()}
    assert all(f"| `{cause.value}` |" in reference["failures.md"] for cause in FailureClass)
    public = "".join(text for name, text in reference.items() if name.startswith("api-core"))
    assert all(f"### {name}\n" in public for name in helmdeck_core.__all__)
    assert all(f"## helmdeck {name}\n" in reference["commands.md"] for name in COMMANDS)
    with make_deck() as deck:
        assert all(f"| `{row.budget.model}` |" in reference["budgets.md"] for row in deck.budgets() if row.row)
        assert all(f"| `{name}` |" in reference["ladder.md"] for name in deck.runtime.contributed(TrimStep))


def test_guide_to_failures_lists_the_lines_of_a_failure_in_their_order():
    attempt = Attempt(number=1, model="a/b")
    failure = LengthTruncated("x", model="a/b", call_id="1", detail="d", excerpt="e", attempts=(attempt,), cost_usd=0.1)
    labels = [line.partition("  ")[0] for line in failure_lines(failure, 11)]
    page = (DOCS / "how-to" / "handle-failures.md").read_text(encoding="utf-8")
    rows = page.partition("| line | description |")[2].partition("\n\n")[0].splitlines()[3:]
    assert [name for row in rows for name in re.findall("`([^`]+)`", row.split("|")[1])] == labels


def test_every_key_has_a_description_and_its_own_default():
    from helmdeck_core.config.types import Config

    rows = list(reference_pages.keys(Config))
    assert len({key for key, *_ in rows}) == len(rows)
    assert [key for key, _, _, text in rows if not text.strip()] == []
    assert ("model", '`"local/lexical"`') in [(key, default) for key, _, default, _ in rows]


# -- links -----------------------------------------------------------------------------------------------------

_FENCED = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def prose(path):
    return _FENCED.sub("", path.read_text(encoding="utf-8"))


def anchors(path):
    """Return the anchors of a page's headings, as GitHub generates them."""
    found = []
    for heading in re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return found


@each_case("path", named(PAGES))
def test_links_resolve(path):
    broken = []
    for match in _LINK.finditer(prose(path)):
        target, _, anchor = match["target"].partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        page = (path.parent / target).resolve() if target else path
        if not page.exists() or (anchor and anchor not in anchors(page)):
            broken.append(match["target"])
    assert broken == []


def test_every_page_is_linked_from_an_index():
    indexes = [DOCS / "README.md", DOCS / "decisions" / "README.md", DOCS / "reference" / "public-api.md"]
    linked = {
        (index.parent / match["target"].partition("#")[0]).resolve()
        for index in indexes
        for match in _LINK.finditer(prose(index))
    }
    assert {*DOCS.rglob("*.md")} - {indexes[0]} <= linked


# -- commands --------------------------------------------------------------------------------------------------


def command_lines(path):
    """Yield the text after ``helmdeck`` in shell blocks and inline code."""
    text = path.read_text(encoding="utf-8")
    for block in re.finditer(r"^```(console|sh|bash)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block[2].replace("\\\n", " ").splitlines():
            # In a console block, only lines with a prompt are commands.
            if block[1] != "console" or line.startswith("$ "):
                yield from re.findall(r"(?:^|[\s/])helmdeck ([a-z-].*)", line)
    for found in re.finditer(r"`helmdeck ([^`\n]+)`", prose(path)):
        yield found[1]


def options_of(command):
    return command_parser(COMMANDS[command].value)


@each_case("path", named(PAGES))
def test_commands_on_the_pages_exist_with_their_options(path):
    for line in command_lines(path):
        command, rest = split(shlex.split(re.split(r" [><|] ", line)[0], comments=True), REGISTRY)
        if command in ({*REGISTRY.groups, ""} - {*COMMANDS}) or command in OTHERS_COMMANDS:
            continue
        assert command in COMMANDS, f"`helmdeck {line}`: unknown command {command!r}"
        rest = rest[: rest.index("--")] if "--" in rest else rest
        used = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
        known = {name for action in options_of(command)._actions for name in action.option_strings}
        assert used <= known, f"`helmdeck {line}`: unknown option {', '.join(sorted(used - known))}"
