"""What a third party ships: packages with entry points, found by real discovery."""

import json

import pytest

from helmdeck_core import (
    CallFailed,
    ChatRequest,
    EventSinkWarning,
    InvariantRestored,
    Message,
    PluginError,
    QuotaExhausted,
    Role,
    TextPart,
    Tier,
    ToolDefinition,
    TrimStep,
)
from helmdeck_core.hooks.foreign_code import PluginWarning
from helmdeck_testing import Chunks, EventRecorder, Reply, make_deck, scripted_provider

ACME = '''
"""Everything that a small company adds: a provider, a budget row, a trim step, a reasoning tag."""

from helmdeck_core import (
    Budget, BudgetRow, ChatResponse, ProviderSpec, ReasoningTag, StopReason, Tier, TrimStep, hookimpl,
)


class Oracle:
    def __init__(self):
        self.prompts = []

    async def complete(self, request):
        self.prompts.append("".join(message.text for message in request.messages))
        text = "<acme:muse>blog.publish?</acme:muse>" + '{"steps": [{"tool": "blog.draft", "args": {"brief": "x"}}]}'
        return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop")

    async def aclose(self):
        pass


ORACLE = Oracle()


@hookimpl
def helmdeck_providers():
    return [ProviderSpec(name="acme", open=lambda settings, context: ORACLE)]


@hookimpl
def helmdeck_budget_rows():
    return [BudgetRow(prefix="acme/", budget=Budget(model="", tier=Tier.B, max_catalog_bytes=20_000, evidence="measured by us"))]


@hookimpl
def helmdeck_trim_steps():
    def without_produces(entry, data):
        metadata = {key: value for key, value in data.get("metadata", {}).items() if key != "produces"}
        return {**data, "metadata": metadata} if metadata != data.get("metadata", {}) else data

    return [TrimStep(name="acme.produces[]", trim=without_produces, order=5)]


@hookimpl
def helmdeck_reasoning_tags():
    return [ReasoningTag(name="acme.muse", open="<acme:muse>", close=("</acme:muse>",))]
'''


def test_a_package_adds_a_provider_a_budget_row_a_trim_step_and_a_reasoning_tag(installed_plugin):
    installed_plugin("helmdeck-acme", {"acme": "acme_plugin"}, {"acme_plugin": ACME})
    with make_deck(autoload=True) as deck:
        plan = deck.plan("draft a blog post", model="acme/oracle")
    assert [step.tool for step in plan.steps] == ["blog.draft"]
    looked_up = deck.budget("acme/oracle")
    assert (looked_up.budget.tier, looked_up.budget.evidence) == (Tier.B, "measured by us")
    assert looked_up.sources["tier"] == "row 'acme/' of plugin 'acme'"
    assert plan.compaction.dropped[0] == "acme.produces[]"
    assert deck.runtime.plugins.distribution("acme") == "helmdeck-acme 1.0"


def test_a_package_replaces_a_built_in_by_name(installed_plugin):
    source = """
from helmdeck_core import TrimStep, hookimpl

@hookimpl
def helmdeck_trim_steps():
    def cut(entry, data):
        return {**data, "description": data["description"][:20]} if data.get("description") else data

    return [TrimStep(name="description.firstSentence", trim=cut, order=60)]
"""
    installed_plugin("helmdeck-short", {"short": "short_plugin"}, {"short_plugin": source})
    with make_deck(autoload=True, config={"selection": {"max_entries": {"C": 99}}}) as deck:
        steps = {step.value.name: step for step in deck.runtime.ladder(Tier.C, "x/y")}
        text = deck.select("anything at all, please", model="x/y").text
    replaced = steps["description.firstSentence"]
    assert (replaced.plugin, replaced.replaced) == ("short", "trim")
    rows = json.loads(text)
    assert min(len(row.get("description", "")) for row in rows["packs"] + rows["pipelines"]) <= 20


def test_a_whole_built_in_plugin_can_be_blocked_and_stood_in_for(installed_plugin):
    source = """
from helmdeck_core import TrimStep, hookimpl

@hookimpl
def helmdeck_trim_steps():
    return [TrimStep(name="nothing.but.names", trim=lambda entry, data: {})]
"""
    installed_plugin("helmdeck-bare", {"bare": "bare_plugin"}, {"bare_plugin": source})
    with make_deck(autoload=True, config={"plugins": {"disable": ["trim"]}}) as deck:
        assert list(deck.runtime.contributed(TrimStep)) == ["nothing.but.names"]


def test_a_deployment_reorders_the_ladder_for_tier_c_only(tmp_path):
    path = tmp_path / "helmdeck.toml"
    path.write_text('[compaction.tiers.C]\norder = ["description.firstSentence", "pack.typical_use"]\n')
    with make_deck(file=path, environ={}) as deck:
        ladders = {tier: [step.value.name for step in deck.runtime.ladder(tier, "x/y")] for tier in Tier}
    assert ladders[Tier.C] == ["description.firstSentence", "pack.typical_use"]
    assert ladders[Tier.A] == ladders[Tier.B]
    assert ladders[Tier.B][:2] == ["pack.intent_keywords[]", "pack.typical_use"]


VANDAL = """
from helmdeck_core import TrimStep, hookimpl

@hookimpl
def helmdeck_trim_steps():
    def trim(entry, data):
        metadata = {key: value for key, value in data.get("metadata", {}).items() if key != "supersedes"}
        return {**data, "metadata": metadata}

    return [TrimStep(name="vandal.supersedes", trim=trim, order=1)]
"""


def test_a_third_partys_step_that_drops_supersedes_is_corrected_and_named(installed_plugin):
    recorder = EventRecorder()
    installed_plugin("helmdeck-vandal", {"vandal": "vandal_plugin"}, {"vandal_plugin": VANDAL})
    with make_deck(recorder, autoload=True, config={"selection": {"max_entries": {"C": 40}}}) as deck:
        selection = deck.select("research a topic and write a grounded post with sources", model="x/y")
    sent = {row["id"]: row["metadata"].get("supersedes") for row in json.loads(selection.text)["pipelines"]}
    assert sent, "the request is one for pipelines"
    assert sent == {entry.id: list(entry.supersedes) or None for entry in selection.entries if entry.id in sent}
    assert "invariant_restored(vandal.supersedes:metadata.supersedes)" in selection.record.dropped
    assert {(e.plugin, e.step) for e in recorder.of(InvariantRestored)} == {("vandal", "vandal.supersedes")}


def test_a_warning_names_the_plugin_whose_step_was_corrected(installed_plugin, capsys):
    installed_plugin("helmdeck-vandal", {"vandal": "vandal_plugin"}, {"vandal_plugin": VANDAL})
    from helmdeck_core import log

    try:
        with make_deck(autoload=True, config={"log_level": "WARNING"}) as deck:
            deck.select("write a grounded post", model="x/y")
    finally:
        log.disable()
    lines = capsys.readouterr().err
    assert "WARNING" in lines and "vandal" in lines and "supersedes" in lines


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import module_that_is_not_there", "cannot be loaded from broken_plugin: ModuleNotFoundError"),
        (
            "from helmdeck_core import hookimpl\n@hookimpl\ndef helmdeck_packs():\n    raise OSError('disk')",
            "helmdeck_packs: OSError: disk",
        ),
    ],
)
def test_a_broken_package_is_reported_with_name_distribution_and_remedy(installed_plugin, source, words):
    installed_plugin("helmdeck-broken", {"broken": "broken_plugin"}, {"broken_plugin": source}, version="0.0.9")
    with pytest.warns(PluginWarning, match=words) as caught, make_deck(autoload=True) as deck:
        assert deck.select("anything", model="x/y").entries, "it works without the package"
    for part in ("'broken'", "helmdeck-broken 0.0.9", "--disable-plugin broken", "HELMDECK_DISABLE_PLUGINS=broken"):
        assert part in str(caught[0].message)
    with make_deck(autoload=True, config={"plugins": {"disable": ["broken"]}}) as deck:
        assert deck.select("anything", model="x/y").entries


LATE = """
from helmdeck_core import CatalogSource, EventSink, HistoryStoreSpec, Ranker, TrimStep, hookimpl

def fail(*arguments):
    raise OSError("late")

@hookimpl
def helmdeck_trim_steps():
    return [TrimStep(name="late.trim", trim=fail, order=1)]

@hookimpl
def helmdeck_rankers():
    return [Ranker(name="late", index=fail)]

@hookimpl
def helmdeck_catalog_sources():
    return [CatalogSource(name="late", load=fail)]

@hookimpl
def helmdeck_history_stores():
    return [HistoryStoreSpec(name="late", open=fail)]

@hookimpl
def helmdeck_event_sinks():
    return [EventSink(name="late", handle=fail)]
"""


@pytest.mark.parametrize(
    ("hook", "config", "use"),
    [
        ("helmdeck_trim_steps", {}, lambda deck: deck.select("anything", model="x/y")),
        ("helmdeck_rankers", {"selection": {"ranker": "late"}}, lambda deck: deck.rank("anything")),
        ("helmdeck_catalog_sources", {"catalog": {"sources": ["late"]}}, lambda deck: deck.catalog),
        ("helmdeck_history_stores", {"history": {"url": "late:x"}}, lambda deck: deck.history.records()),
    ],
)
def test_what_fails_long_after_start_up_is_named_with_its_distribution_too(installed_plugin, hook, config, use):
    installed_plugin("helmdeck-late", {"late": "late_plugin"}, {"late_plugin": LATE}, version="3.1")
    with make_deck(autoload=True, config=config) as deck, pytest.raises(PluginError) as caught:
        use(deck)
    assert f"plugin 'late' (distribution helmdeck-late 3.1) failed in {hook}: " in str(caught.value)
    assert "OSError: late" in str(caught.value)


def test_warning_about_a_raising_sink_names_its_distribution(installed_plugin):
    installed_plugin("helmdeck-late", {"late": "late_plugin"}, {"late_plugin": LATE}, version="3.1")
    config = {"selection": {"ranker": "lexical"}, "compaction": {"drop": ["late.trim"]}}
    named = r"plugin 'late' \(distribution helmdeck-late 3.1\) failed in helmdeck_event_sinks: .*OSError: late"
    with make_deck(autoload=True, config=config) as deck, pytest.warns(EventSinkWarning, match=named):
        deck.plan("draft a blog post")


def test_an_asking_order_of_installed_packages_does_not_depend_on_metadata_order(installed_plugin):
    for name in ("zzz", "aaa", "mmm"):
        installed_plugin(f"helmdeck-{name}", {name: f"{name}_plugin"}, {f"{name}_plugin": ""})
    with make_deck(autoload=True) as deck:
        names = [info.name for info in deck.runtime.plugins.infos if info.source == "entry point"]
    assert names == sorted(names) and {"aaa", "mmm", "zzz"} <= set(names)


REFUSAL = r"""
from helmdeck_core import RefusalPattern, hookimpl

@hookimpl
def helmdeck_refusal_patterns():
    return [RefusalPattern(language="nl", pattern=r"(?:het spijt me, (?:maar )?)?(?:dat kan ik|ik kan dat) niet")]
"""


def test_a_package_adds_refusals_in_one_more_language(installed_plugin):
    text = "Het spijt me, maar dat kan ik niet doen."
    with make_deck() as deck, pytest.raises(CallFailed) as before:
        deck.decode(text, dict)
    installed_plugin("helmdeck-refusals-nl", {"refusals_nl": "refusals_nl"}, {"refusals_nl": REFUSAL})
    with make_deck(autoload=True) as deck, pytest.raises(CallFailed) as after:
        deck.decode(text, dict)
    assert (before.value.sub_cause, after.value.sub_cause) == ("no_json", "refusal")
    assert len(REFUSAL.strip().splitlines()) < 30


VENDOR = """
from helmdeck_core import ProviderSpec, QuotaExhausted, Usage, hookimpl
from helmdeck_providers import Cause, ErrorFields, ErrorRules, HttpProvider, Rendered, ResponseReader, WireFormat, encode_payload

RULES = ErrorRules(
    fields=ErrorFields(message=("why.text",), words=("why.codes.id",), delays=("why.pause",), unwrapped={"kind": "fault"}),
    words={"e-42": Cause(QuotaExhausted)},
)

class Answer(ResponseReader):
    def feed(self, event):
        self._raise_error(event)
        yield from self._add_text(event["said"])

    def usage(self):
        return Usage()

def open_acme(settings, context):
    return HttpProvider(settings, context, WireFormat(
        name="acme", error_rules=RULES, headers=lambda key: {}, path=lambda request: "/ask", end_mark=b"-- end --",
        render=lambda request: Rendered(encode_payload({"ask": request.messages[0].text}, {})),
        answer=lambda request, terms: Answer(terms), models_path="/models", models=lambda page: ((), "")))

@hookimpl
def helmdeck_providers():
    return [ProviderSpec(name="acme", open=open_acme)]
"""


def test_a_package_reads_the_errors_and_the_end_mark_of_its_vendor(installed_plugin, chat_server):
    fault = {"kind": "fault", "why": {"text": "spent", "codes": [{"id": "E-42"}], "pause": "90s"}}
    installed_plugin("helmdeck-acme", {"acme": "acme_vendor"}, {"acme_vendor": VENDOR})
    server = chat_server(
        lambda body: (
            Chunks([b'data: {"said": "hi"}\n\ndata: -- end --\n\n']) if "tides" in str(body) else (200, {}, fault)
        )
    )
    config = {"providers": {"acme": {"base_url": server.base_url}}}
    with make_deck(autoload=True, config=config) as deck:

        def ask(text):
            return ChatRequest(model="acme/x", messages=(Message(Role.USER, (TextPart(text),)),))

        with pytest.raises(QuotaExhausted) as caught:
            deck.complete(ask("boats"))
        assert (caught.value.detail, caught.value.retry_after_s) == ("spent", 90.0)
        *_, response = deck.stream(ask("tides"))
        assert response.text == "hi"
    assert len(VENDOR.strip().splitlines()) < 30


ACME_CALLS = '''
"""Replaces the built-in reader of tool calls: the last line of a response is a call, ``name {arguments}``."""

import json

from helmdeck_core import RecoveredCall, ToolCall, ToolCallReaderSpec, ToolCalls, hookimpl


class LastLine:
    def read(self, text, **options):
        before, _, last = text.rpartition("\\n")
        name, _, arguments = last.partition(" ")
        if not arguments.startswith("{"):
            return ToolCalls(text=text)
        call = ToolCall("call_1", name, arguments)
        return ToolCalls(text=before, calls=(RecoveredCall(call, json.loads(arguments), format="last line"),))

    def judge(self, response, **options):
        return self.read(response.text, **options)


@hookimpl
def helmdeck_tool_call_readers():
    return [ToolCallReaderSpec(name="formats", open=lambda context: LastLine())]
'''


def test_a_package_replaces_the_reader_of_tool_calls_by_its_name(installed_plugin):
    assert ACME_CALLS.strip().count("\n") < 30
    installed_plugin("helmdeck-acme", {"acme": "acme_calls"}, {"acme_calls": ACME_CALLS})
    search = ToolDefinition("search", "Search", {"type": "object"})
    script = scripted_provider([Reply('I look.\nsearch {"query": "tides"}')])
    with make_deck(script, autoload=True) as deck:
        request = ChatRequest(model="scripted/a", messages=(Message(Role.USER, (TextPart("go"),)),), tools=(search,))
        response = deck.complete(request)
        (owned,) = deck.runtime.contributions["helmdeck_tool_call_readers"]
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("search", '{"query": "tides"}')]
    assert (owned.plugin, owned.replaced) == ("acme", "tool_call_reader")


ACME_MERGER = '''
"""Replaces the built-in merger: the parts are separate paragraphs."""

from helmdeck_core import ContinuationMergerSpec, Merged, hookimpl


class Paragraphs:
    def merge(self, answer, more, *, is_truncated=False):
        return Merged(answer + "\\n\\n" + more, "\\n\\n" + more)

    def alternatives(self, answer, more):
        return ()

    def stream(self, answer):
        self.begun = ""
        return self

    def feed(self, chunk):
        begun, self.begun = self.begun, "\\n\\n"
        return chunk if begun else "\\n\\n" + chunk

    def finish(self, *, is_truncated=False):
        return ""


@hookimpl
def helmdeck_continuation_mergers():
    return [ContinuationMergerSpec(name="seam", open=lambda announcements: Paragraphs())]
'''


def test_a_package_replaces_the_merger_of_continuations_by_its_name(installed_plugin):
    assert ACME_MERGER.strip().count("\n") < 30
    installed_plugin("helmdeck-acme", {"acme": "acme_merger"}, {"acme_merger": ACME_MERGER})
    request = ChatRequest(model="scripted/a", messages=(Message(Role.USER, (TextPart("go"),)),))
    replies = [Reply("The first part", "length"), Reply("part two")]
    for is_streamed in (False, True):
        with make_deck(scripted_provider(replies), autoload=True) as deck:
            last = list(deck.stream(request))[-1] if is_streamed else deck.complete(request)
            (owned,) = deck.runtime.contributions["helmdeck_continuation_mergers"]
        assert last.text == "The first part\n\npart two"
        assert (owned.plugin, owned.replaced) == ("acme", "continuation")
