"""Every hook, used as a third party would use it."""

import pytest

from helmdeck_core import (
    Budget,
    BudgetRow,
    Catalog,
    CatalogSource,
    ChatRequest,
    Command,
    DecodeStep,
    EventSink,
    HistoryStoreSpec,
    Message,
    NativeContinuation,
    Pack,
    PluginError,
    PromptVariant,
    ProviderSpec,
    Ranker,
    Ranking,
    ReasoningTag,
    Role,
    Score,
    StopReason,
    StopReasonTable,
    TextPart,
    ToolCallFormat,
    TrimStep,
    hookimpl,
)
from helmdeck_testing import Fail, Reply, scripted_provider

FREE = "openrouter/openrouter/free"
GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'


def contributing(hook, *values):
    """A plugin that contributes values through one hook."""

    def implementation(self):
        return list(values)

    implementation.__name__ = hook
    return type("Acme", (), {hook: hookimpl(implementation)})()


def test_helmdeck_native_continuations_say_who_takes_an_unfinished_answer(deck_with):
    script = scripted_provider([Reply("ha", "length"), Reply("lf")])
    row = NativeContinuation(prefix="scripted/", evidence="seen")
    deck = deck_with(contributing("helmdeck_native_continuations", row), script)
    messages = (Message(Role.USER, (TextPart("go"),)),)
    assert deck.complete(ChatRequest(model="scripted/any", messages=messages)).text == "half"
    assert script.requests[1].continues


def test_helmdeck_transports_serve_the_providers_that_choose_them(deck_with):
    from helmdeck_core import TransportSpec, WholeResponse

    class Canned:
        def __init__(self, settings):
            opened.append(settings.base_url)

        async def send(self, method, url, headers, body):
            text = b'{"choices": [{"message": {"content": "canned"}, "finish_reason": "stop"}]}'
            return WholeResponse(200, {"Content-Type": "application/json"}, text)

        async def aclose(self):
            opened.append("closed")

    opened = []
    plugin = contributing("helmdeck_transports", TransportSpec(name="canned", open=Canned, order=99))
    config = {"providers": {"vllm": {"base_url": "http://models.example/v1", "transport": "canned"}}}
    deck = deck_with(plugin, config=config)
    request = ChatRequest(model="vllm/any", messages=(Message(Role.USER, (TextPart("go"),)),))
    assert deck.complete(request).text == "canned"
    deck.close()
    assert opened == ["http://models.example/v1", "closed"]


def test_helmdeck_prices_say_what_a_call_cost(deck_with):
    from helmdeck_core import PriceSource, Usage
    from helmdeck_testing import Reply, scripted_provider

    source = PriceSource(name="ours", cost_usd=lambda model, usage: usage.output_tokens * 0.5)
    script = scripted_provider([Reply(GOOD, usage=Usage(output_tokens=3))] * 2, "acme")
    deck = deck_with(contributing("helmdeck_prices", source), script)
    assert deck.plan("draft a post", model="acme/any").cost_usd == 1.5
    wrong = contributing("helmdeck_prices", PriceSource(name="ours", cost_usd=lambda model, usage: "much"))
    script = scripted_provider([Reply(GOOD, usage=Usage(output_tokens=3))] * 2, "acme")
    with pytest.raises(PluginError, match="PriceSource 'ours' raised TypeError: a cost is a number"):
        deck_with(wrong, script).plan("draft a post", model="acme/y")


def test_helmdeck_recovery_rules_say_what_is_tried_after_a_failure(deck_with):
    from helmdeck_core import NextModel, RecoveryRule

    rule = RecoveryRule(name="auth_failed", actions=(NextModel(),))
    script = scripted_provider([Fail("auth_failed")])
    deck = deck_with(
        contributing("helmdeck_recovery_rules", rule), script, config={"fallback": {"scripted/": ["local/lexical"]}}
    )
    assert deck.plan("draft a post", model="scripted/any").model == "local/lexical"


def test_helmdeck_providers_serves_models_under_its_name(deck_with):
    class Parrot:
        async def complete(self, request):
            from helmdeck_core import ChatResponse

            return ChatResponse(text=GOOD, stop_reason=StopReason.END_TURN)

        async def aclose(self):
            pass

    deck = deck_with(contributing("helmdeck_providers", ProviderSpec(name="parrot", open=lambda s, c: Parrot())))
    assert deck.plan("draft a post", model="parrot/any").steps[0].tool == "blog.draft"


def test_helmdeck_stop_reasons_teaches_a_dialect(deck_with):
    table = StopReasonTable(name="acme", reasons={"Enough": StopReason.MAX_TOKENS})
    deck = deck_with(contributing("helmdeck_stop_reasons", table))
    assert deck.runtime.normalise_stop("ENOUGH", "acme") is StopReason.MAX_TOKENS
    assert deck.runtime.normalise_stop("enough", "") is StopReason.MAX_TOKENS
    assert deck.runtime.normalise_stop("enough", "another") is StopReason.UNKNOWN
    assert deck.runtime.normalise_stop(None, "acme") is StopReason.UNKNOWN


def test_helmdeck_budget_rows_adds_models(deck_with):
    row = BudgetRow(prefix="acme/", budget=Budget(model="", output_tokens=77))
    assert deck_with(contributing("helmdeck_budget_rows", row)).budget("acme/x").budget.output_tokens == 77


def test_helmdeck_model_budget_answers_before_the_built_in_and_once_per_model(deck_with):
    asked = []

    class Acme:
        @hookimpl
        def helmdeck_model_budget(self, model_id, table):
            asked.append(model_id)
            return Budget(model=model_id, output_tokens=5) if model_id == "acme/x" else None

    deck = deck_with(Acme())
    assert [deck.budget(" acme/x ").budget.output_tokens for _ in range(3)] == [5, 5, 5]
    assert asked == ["acme/x"]


def test_helmdeck_trim_steps_joins_the_ladder(deck_with):
    step = TrimStep(
        name="acme.blank", trim=lambda entry, data: {k: v for k, v in data.items() if k != "description"}, order=1
    )
    deck = deck_with(contributing("helmdeck_trim_steps", step), config={"selection": {"max_entries": {"C": 40}}})
    assert deck.select("anything at all", model=FREE).record.dropped[0] == "acme.blank"


def test_helmdeck_rankers_can_be_chosen_by_name(deck_with):
    class Reverse:
        def __init__(self, catalog):
            self.catalog = catalog

        def rank(self, request):
            order = sorted(range(len(self.catalog)), reverse=True)
            ids = [entry.id for entry in self.catalog.entries]
            return Ranking(tuple(Score(n, ids[n], float(n)) for n in order))

    ranker = contributing("helmdeck_rankers", Ranker(name="reverse", index=Reverse))
    deck = deck_with(ranker, config={"selection": {"ranker": "reverse"}})
    kept = deck.select("anything", model=FREE).entries
    assert kept[-1].id == deck.catalog.entries[-1].id


@pytest.mark.parametrize(
    "scores", [(), (Score(0, "x", 1.0),) * 71, (Score(10**6, "x", 1.0),), (Score(0, "x", "high"),)]
)
def test_helmdeck_rankers_that_lose_or_invent_entries_are_named(deck_with, scores):
    class Careless:
        def __init__(self, catalog):
            pass

        def rank(self, request):
            return Ranking(scores)

    ranker = contributing("helmdeck_rankers", Ranker(name="careless", index=Careless))
    deck = deck_with(ranker, config={"selection": {"ranker": "careless"}})
    with pytest.raises(PluginError, match="plugin 'acme-1'.*ranker 'careless'.*every entry"):
        deck.select("anything", model=FREE)


def test_helmdeck_prompt_variants_are_chosen_by_a_budget(answering):
    variant = PromptVariant(
        task="plan", variant="haiku", instructions="Plan in verse.", render=lambda task: task.request
    )
    plugin = contributing("helmdeck_prompt_variants", variant)
    deck, provider = answering(GOOD, beside=(plugin,), config={"budgets": {FREE: {"prompt_variant": "haiku"}}})
    assert deck.plan("draft a post", model=FREE).prompt_variant_used == "haiku"
    assert provider.requests[0].messages[0].text == "Plan in verse."


def test_helmdeck_reasoning_tags_are_stripped(deck_with):
    tag = ReasoningTag(name="acme.musing", open="<musing>", close=("</musing>",))
    text = '<musing>maybe {"steps": []}</musing>{"a": 1}'
    deck = deck_with(contributing("helmdeck_reasoning_tags", tag))
    assert deck.decode(text, dict).value == {"a": 1}


def test_helmdeck_decode_steps_read_what_strict_decoding_refused(deck_with):
    def colons(text):
        return [text.replace(" =", ":")]

    deck = deck_with(contributing("helmdeck_decode_steps", DecodeStep(name="acme.colons", candidates=colons, order=1)))
    decoded = deck.decode('{"a" = 1}', dict)
    assert (decoded.value, decoded.step, decoded.repairs) == ({"a": 1}, "acme.colons", ("acme.colons",))


def test_helmdeck_tool_call_formats_are_found_in_text(deck_with):
    dialect = ToolCallFormat(name="acme", open=("<<run ",), close=(">>",), head=r"(?P<name>\w+) ")
    deck = deck_with(contributing("helmdeck_tool_call_formats", dialect))
    found = deck.tool_calls('I look. <<run search {"q": "a >> b"}>>')
    assert (found.text, found.calls[0].call.name, found.calls[0].args) == ("I look.", "search", {"q": "a >> b"})
    assert found.calls[0].dialect == "acme"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"open": ("<x>",), "head": "("}, "head is no regular expression"),
        ({"open": ("<x>",), "head": "x"}, "head has no group 'name'"),
        ({"open": ("",)}, "a mark is empty"),
        ({}, "nothing to know it by"),
        ({"open": ("<x>",), "argument": "<(?P<key>a)>"}, "belong together"),
    ],
)
def test_helmdeck_tool_call_formats_that_cannot_work_name_their_plugin(deck_with, fields, words):
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*ToolCallFormat 'acme': .*{words}"):
        deck_with(contributing("helmdeck_tool_call_formats", ToolCallFormat(name="acme", **fields)))


def test_helmdeck_tool_call_formats_whose_translation_fails_name_their_plugin(deck_with):
    dialect = ToolCallFormat(name="acme", open=("@@",), translate=lambda text: 1 / 0)
    deck = deck_with(contributing("helmdeck_tool_call_formats", dialect))
    with pytest.raises(PluginError, match="plugin 'acme-1'.*ZeroDivisionError"):
        deck.tool_calls("@@{a}")


def test_helmdeck_packs_can_be_planned_and_run(deck_with):
    async def run(context, given):
        return {"twice": given["n"] * 2}

    deck = deck_with(
        contributing("helmdeck_packs", Pack(name="acme.double", version="1", description="Doubles.", run=run))
    )
    assert deck.catalog.get("acme.double") is not None
    assert deck.run("acme.double", {"n": 4}) == {"twice": 8}


def test_helmdeck_catalog_sources_are_used_by_name(deck_with):
    source = CatalogSource(name="acme", load=lambda: Catalog.from_data({"packs": [{"name": "acme.only"}]}, "acme"))
    deck = deck_with(contributing("helmdeck_catalog_sources", source), config={"catalog": {"sources": ["acme"]}})
    assert [entry.id for entry in deck.catalog.entries] == ["acme.only"]


def test_helmdeck_history_stores_keep_records_under_their_scheme(answering):
    kept = []

    class Memory:
        def __init__(self, target, keep_days):
            kept.append((target, keep_days))

        def add(self, record):
            kept.append(record)

        def plans(self, caller, limit=100):
            return tuple(kept[1:])

    plugin = contributing("helmdeck_history_stores", HistoryStoreSpec(name="memory", open=Memory))
    config = {"history": {"url": "memory:anywhere", "keep_days": 7}}
    deck, _ = answering(GOOD, beside=(plugin,), config=config)
    deck.plan("draft a post", model=FREE)
    assert kept[0] == ("anywhere", 7.0)
    assert [record.model for record in deck.plan_history()] == [FREE]


def test_helmdeck_commands_are_collected(deck_with):
    command = Command(name="brew", summary="brews", configure=lambda parser: None, run=lambda arguments: 0)
    deck = deck_with(contributing("helmdeck_commands", command))
    assert [owned.value.name for owned in deck.runtime.contributions["helmdeck_commands"]] == ["brew"]


@pytest.mark.parametrize("is_active", [True, False])
def test_helmdeck_event_sinks_get_events_only_while_they_are_active(answering, is_active):
    events = []
    sink = EventSink(name="acme", handle=events.append, is_active=lambda: is_active)
    deck, _ = answering(GOOD, beside=(contributing("helmdeck_event_sinks", sink),))
    deck.plan("draft a post", model=FREE)
    assert bool(events) is is_active
