"""Every hook, used as a third party would use it."""

import asyncio

import pytest

from helmdeck_core import (
    AnswerFormat,
    AnswerType,
    Budget,
    BudgetRow,
    CallFailed,
    Catalog,
    CatalogSource,
    ChatInputReader,
    ChatRequest,
    ChatResponse,
    Command,
    ConfigError,
    ContinuationAnnouncement,
    ContinuationMergerSpec,
    Decoded,
    DecoderSpec,
    DecodeStep,
    ErrorRuleSet,
    EventSink,
    History,
    HistorySpec,
    HistoryStoreSpec,
    InvalidRequest,
    Learned,
    Merged,
    Message,
    NativeContinuation,
    Pack,
    Pipeline,
    PluginError,
    PromptText,
    PromptVariant,
    ProviderSpec,
    Ranker,
    Ranking,
    ReasoningTag,
    RefusalPattern,
    Role,
    RunEngineSpec,
    RunProgram,
    Score,
    SecretPattern,
    StopReason,
    StopReasonTable,
    Stripped,
    TextPart,
    Tier,
    TierDefaults,
    ToolCallFormat,
    ToolCallReaderSpec,
    ToolCalls,
    TrimStep,
    Weight,
    hookimpl,
)
from helmdeck_testing import Fail, Reply, StubProvider, make_deck, plugin_with, scripted_provider

FREE = "openrouter/openrouter/free"
GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"b"}}]}'


def contributing(hook, *values):
    """A plugin that contributes values through one hook."""
    return plugin_with(**{hook: list(values)})


def test_helmdeck_native_continuations_say_who_takes_an_unfinished_answer(deck_with):
    script = scripted_provider([Reply("ha", "length"), Reply("lf")])
    row = NativeContinuation(prefix="scripted/", evidence="seen")
    deck = deck_with(contributing("helmdeck_native_continuations", row), script)
    messages = (Message(Role.USER, (TextPart("go"),)),)
    assert deck.complete(ChatRequest(model="scripted/any", messages=messages)).text == "half"
    assert script.requests[1].continues


def continued(deck):
    messages = (Message(Role.USER, (TextPart("go"),)),)
    return deck.complete(ChatRequest(model="scripted/any", messages=messages))


def test_helmdeck_continuation_announcements_are_removed_in_one_more_language(deck_with):
    more = "Natuurlijk, ik ga verder:\n\nlf of it"
    dutch = ContinuationAnnouncement(language="nl", openers=("natuurlijk",), phrases=("ga verder",))
    announcements = contributing("helmdeck_continuation_announcements", dutch)
    replies = [Reply("The first ha", "length"), Reply(more)]
    assert continued(deck_with(announcements, scripted_provider(replies))).text == "The first half of it"
    assert continued(deck_with(scripted_provider(replies))).text == "The first ha" + more
    replies = [Reply("The first ha", "length"), Reply("Sure, continuing:\n\nlf of it")]
    assert continued(deck_with(announcements, scripted_provider(replies))).text == "The first half of it"


class DashMerger:
    """Joins parts with a dash."""

    def merge(self, answer, more, *, is_truncated=False):
        return Merged(f"{answer}-{more}", f"-{more}")

    def alternatives(self, answer, more):
        return ()

    def stream(self, answer):
        raise KeyError("no streams")


HALVES = [Reply("The first ha", "length"), Reply("a half of it")]


def test_helmdeck_continuation_mergers_with_the_lowest_order_join_the_parts(deck_with):
    first = ContinuationMergerSpec(name="acme", open=lambda announcements: DashMerger(), order=-1)
    last = ContinuationMergerSpec(name="acme", open=lambda announcements: 1 / 0, order=1)
    acme = contributing("helmdeck_continuation_mergers", first)
    assert continued(deck_with(acme, scripted_provider(HALVES))).text == "The first ha-a half of it"
    acme = contributing("helmdeck_continuation_mergers", last)
    assert continued(deck_with(acme, scripted_provider(HALVES))).text == "The first haa half of it"


def test_helmdeck_continuation_mergers_that_fail_name_their_plugin(deck_with):
    failing = ContinuationMergerSpec(name="seam", open=lambda announcements: 1 / 0)
    with pytest.raises(PluginError, match="plugin 'acme-1'.*ZeroDivisionError"):
        deck_with(contributing("helmdeck_continuation_mergers", failing))
    dashes = ContinuationMergerSpec(name="seam", open=lambda announcements: DashMerger())
    deck = deck_with(contributing("helmdeck_continuation_mergers", dashes), scripted_provider(HALVES))
    request = ChatRequest(model="scripted/any", messages=(Message(Role.USER, (TextPart("go"),)),))
    with pytest.raises(PluginError, match="plugin 'acme-1'.*KeyError: 'no streams'"):
        list(deck.stream(request))


@pytest.mark.parametrize("is_streamed", [False, True])
def test_without_a_merger_the_parts_of_an_answer_are_joined_as_they_are(is_streamed):
    native = contributing("helmdeck_native_continuations", NativeContinuation(prefix="scripted/"))
    script = scripted_provider([Reply("one, two, ", "length"), Reply("two, three")])
    with make_deck(native, script, config={"plugins": {"disable": ["continuation"]}}) as deck:
        request = ChatRequest(model="scripted/any", messages=(Message(Role.USER, (TextPart("go"),)),))
        whole = list(deck.stream(request))[-1] if is_streamed else deck.complete(request)
    assert whole.text == "one, two, two, three"


def test_helmdeck_prompt_texts_replace_one_hint_and_leave_the_others(deck_with):
    hint = PromptText(name="continuation.hint", text="Weiter.")
    script = scripted_provider([Reply("ha", "length"), Reply("lf", "length"), Reply("", "length")])
    deck = deck_with(
        contributing("helmdeck_prompt_texts", hint), script, config={"agent": {"continuation_max_attempts": 1}}
    )
    response = continued(deck)
    assert script.requests[1].messages[-1].text == "Weiter."
    assert response.continuation.notice == "the response is truncated: it was not complete after 1 continuations"


def test_without_a_continuation_hint_a_truncated_answer_stays_as_it_is(deck_with):
    script = scripted_provider([Reply("ha", "length"), Reply("lf")])
    deck = deck_with(contributing("helmdeck_prompt_texts", PromptText(name="continuation.hint", text="")), script)
    assert continued(deck).text == "ha"
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (PromptText(name="continuation.hnit", text="x"), "unknown text; allowed: .*continuation.hint"),
        (
            PromptText(name="notice.retry_limit", text="after {tries}"),
            "placeholders of .* are wrong; allowed: attempts, cause",
        ),
    ],
)
def test_unusable_prompt_texts_name_their_plugin_at_start_up(deck_with, text, problem):
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*PromptText '{text.name}': .*{problem}"):
        deck_with(contributing("helmdeck_prompt_texts", text))


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


def test_helmdeck_routers_choose_the_key_of_a_request(deck_with, monkeypatch):
    from helmdeck_core import ProviderSpec, RouterSpec

    monkeypatch.setenv("KEY_A", "first-key")
    monkeypatch.setenv("KEY_B", "second-key")
    made = []

    def open_router(routes, emit):
        made.append([route.weight for route in routes])
        return lambda providers: providers[-1]

    class Echo(StubProvider):
        def __init__(self, settings):
            super().__init__(settings.api_key())

    acme = plugin_with(
        helmdeck_providers=[ProviderSpec(name="echo", open=lambda settings, context: Echo(settings))],
        helmdeck_routers=[RouterSpec(name="last", open=open_router, order=-1)],
    )
    routes = [{"api_key": "env:KEY_A", "weight": 3}, {"api_key": "env:KEY_B"}]
    request = ChatRequest(model="echo/any", messages=(Message(Role.USER, (TextPart("go"),)),))
    for routing in ({}, {"routing": "last"}):  # the lowest order is the default
        assert (
            deck_with(acme, config={"providers": {"echo": {"routes": routes, **routing}}}).complete(request).text
            == "second-key"
        )
    assert made == [[3.0, 1.0]] * 2


def test_routes_without_a_contributed_router_are_a_mistake(deck_with):
    config = {"providers": {"openai": {"api_keys": ["env:KEY_A"]}}, "plugins": {"disable": ["routing"]}}
    with pytest.raises(ConfigError, match="providers.openai.routing: unknown routing"):
        deck_with(config=config)


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
    parrot = ProviderSpec(name="parrot", open=lambda settings, context: StubProvider(GOOD))
    deck = deck_with(contributing("helmdeck_providers", parrot))
    assert deck.plan("draft a post", model="parrot/any").steps[0].tool == "blog.draft"


def test_helmdeck_stop_reasons_teaches_a_wire_format(deck_with):
    table = StopReasonTable(name="acme", reasons={"Enough": StopReason.MAX_TOKENS})
    deck = deck_with(contributing("helmdeck_stop_reasons", table))
    assert deck.runtime.normalise_stop("ENOUGH", "acme") is StopReason.MAX_TOKENS
    assert deck.runtime.normalise_stop("enough", "") is StopReason.MAX_TOKENS
    assert deck.runtime.normalise_stop("enough", "another") is StopReason.UNKNOWN
    assert deck.runtime.normalise_stop(None, "acme") is StopReason.UNKNOWN


def test_helmdeck_error_rules_reach_the_providers_that_they_name(deck_with):
    class Provider:
        def __init__(self, settings):
            opened[settings.name] = [rules.name for rules in settings.error_rules]

        async def complete(self, request):
            return ChatResponse(text="done", stop_reason=StopReason.END_TURN)

        async def aclose(self):
            pass

    opened = {}
    specs = [ProviderSpec(name=name, open=lambda settings, _: Provider(settings)) for name in ("acme", "other")]
    rules = [ErrorRuleSet(name="late", order=1), ErrorRuleSet(name="named", providers=("acme",))]
    deck = deck_with(contributing("helmdeck_providers", *specs), contributing("helmdeck_error_rules", *rules))
    for name in ("acme", "other"):
        deck.complete(ChatRequest(model=f"{name}/any", messages=(Message(Role.USER, (TextPart("go"),)),)))
    assert opened == {"acme": ["named", "late"], "other": ["late"]}


def test_helmdeck_budget_rows_adds_models(deck_with):
    row = BudgetRow(prefix="acme/", budget=Budget(model="", output_tokens=77))
    assert deck_with(contributing("helmdeck_budget_rows", row)).budget("acme/x").budget.output_tokens == 77


def test_helmdeck_tier_defaults_replace_one_tier_and_leave_the_others(deck_with):
    ours = TierDefaults(tier=Tier.C, max_catalog_bytes=9_000, prompt_variant="full_steps", max_entries=7)
    deck = deck_with(
        contributing("helmdeck_tier_defaults", ours),
        config={"budgets": {"acme/": {"tier": "C"}, "own/": {"tier": "B"}}},
    )
    assert deck.budget("acme/x").prompt_variant == "full_steps"
    assert deck.runtime.selection(Tier.C, "acme/x").max_entries == 7
    assert deck.budget("openrouter/openrouter/free").budget.max_catalog_bytes == 10_000, "a row's own limit stays"
    assert deck.budget("own/x").budget.max_catalog_bytes == 22_000
    moved = deck_with(
        contributing("helmdeck_tier_defaults", ours), config={"budgets": {"openai/gpt-4o": {"tier": "C"}}}
    )
    found = moved.budget("openai/gpt-4o")
    assert (found.budget.max_catalog_bytes, found.asks_for_json) == (9_000, True)


def test_without_tier_defaults_no_tier_has_a_limit(deck_with):
    deck = deck_with(config={"plugins": {"disable": ["budgets"]}})
    assert deck.runtime.selection(Tier.C, "any/x").max_entries == 0
    assert deck.plan("draft a post").prompt_variant_used == "full_steps"


def test_helmdeck_weights_change_what_a_planned_entry_gains(deck_with):
    def gain(*plugins):
        deck = deck_with(*plugins)
        library, budget = deck._engine.library, deck.budget(FREE).budget
        planned = library.catalog.entries[-1].id
        before, after = (
            {
                score.id: score.score
                for score in library.select(budget, "write", 0, dict.fromkeys(ids, 1.0)).ranking.scores
            }
            for ids in ((), (planned,))
        )
        return (after[planned] - before[planned]) / max(before.values())

    assert gain() == pytest.approx(1.0)
    assert gain(contributing("helmdeck_weights", Weight(name="history.gain", value=0.5))) == pytest.approx(0.5)
    assert gain(contributing("helmdeck_weights", Weight(name="history.entries", value=0))) == 0


@pytest.mark.parametrize(
    ("weight", "problem"),
    [
        (Weight(name="history.gian", value=1), "unknown weight; allowed: .*history.gain"),
        (Weight(name="history.gain", value=-1), "found -1; allowed: a finite number from 0"),
        (Weight(name="history.gain", value=float("nan")), "found nan; allowed: a finite number from 0"),
    ],
)
def test_unusable_weights_name_their_plugin_at_start_up(deck_with, weight, problem):
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*Weight '{weight.name}': {problem}"):
        deck_with(contributing("helmdeck_weights", weight))


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


def test_a_prompt_variant_without_a_rendering_uses_that_of_its_task(answering):
    variant = PromptVariant(task="plan", variant="terse", instructions="Plan tersely.")
    plugins = (
        contributing("helmdeck_prompt_variants", variant),
        contributing("helmdeck_prompt_texts", PromptText(name="catalog.heading", text="TOOLBOX")),
    )
    deck, provider = answering(GOOD, beside=plugins, config={"budgets": {FREE: {"prompt_variant": "terse"}}})
    deck.plan("draft a post", model=FREE)
    user = provider.requests[0].messages[-1].text
    assert user.startswith("TOOLBOX\n")
    assert user.endswith("REQUEST\n<request>\ndraft a post\n</request>")


def test_a_task_needs_one_variant_with_a_rendering(deck_with):
    variant = PromptVariant(task="haiku", variant="only", instructions="Write verse.")
    with pytest.raises(PluginError, match="PromptVariant 'haiku.only': no variant of task 'haiku' has a render"):
        deck_with(contributing("helmdeck_prompt_variants", variant))


def test_helmdeck_reasoning_tags_are_stripped(deck_with):
    tag = ReasoningTag(name="acme.musing", open="<musing>", close=("</musing>",))
    text = '<musing>maybe {"steps": []}</musing>{"a": 1}'
    deck = deck_with(contributing("helmdeck_reasoning_tags", tag))
    assert deck.decode(text, dict).value == {"a": 1}


class NoDecoder:
    """Decodes every response as the same value."""

    def strip(self, text):
        return Stripped(text)

    def has_reasoning(self, text):
        return False

    def stream(self, **options):
        raise AssertionError

    def decode(self, raw, type, stop=None, **options):
        return Decoded({"always": "this"}, "acme")


def test_helmdeck_decoders_with_the_lowest_order_decode_all_responses(deck_with):
    first = DecoderSpec(name="acme", open=lambda *contributed: NoDecoder(), order=-1)
    last = DecoderSpec(name="acme", open=lambda *contributed: 1 / 0, order=1)
    assert deck_with(contributing("helmdeck_decoders", first)).decode("no JSON", dict).value == {"always": "this"}
    assert deck_with(contributing("helmdeck_decoders", last)).decode('{"a": 1}', dict).value == {"a": 1}


@pytest.mark.parametrize(
    ("opened", "words"),
    [(lambda *contributed: 1 / 0, "ZeroDivisionError"), (lambda *contributed: object(), "has no method strip")],
)
def test_helmdeck_decoders_that_cannot_be_opened_name_their_plugin(deck_with, opened, words):
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*{words}"):
        deck_with(contributing("helmdeck_decoders", DecoderSpec(name="json", open=opened)))


def test_a_deck_without_a_decoder_is_a_mistake_of_the_configuration():
    with pytest.raises(ConfigError, match=r"plugins\.disable: no plugin contributes a decoder"):
        make_deck(config={"plugins": {"disable": ["decoder"]}})


def test_helmdeck_decode_steps_read_what_strict_decoding_refused(deck_with):
    def colons(text):
        return [text.replace(" =", ":")]

    deck = deck_with(contributing("helmdeck_decode_steps", DecodeStep(name="acme.colons", candidates=colons, order=1)))
    decoded = deck.decode('{"a" = 1}', dict)
    assert (decoded.value, decoded.step, decoded.repairs) == ({"a": 1}, "acme.colons", ("acme.colons",))


def test_helmdeck_answer_types_decode_one_more_type(deck_with):
    def format_of(type):
        return (
            AnswerFormat(schema={"type": "object"}, decode_as=dict, parse=lambda data: complex(data["re"], data["im"]))
            if type is complex
            else None
        )

    deck = deck_with(
        contributing("helmdeck_answer_types", AnswerType(name="complex", description="complex", format_of=format_of))
    )
    assert deck.decode('{"re": 1, "im": 2}', complex).value == 1 + 2j


def test_helmdeck_chat_inputs_read_another_form(deck_with):
    def shout(request):
        return (Message(Role.USER, (TextPart(str(request).upper()),)),)

    deck = deck_with(
        contributing(
            "helmdeck_chat_inputs", ChatInputReader(name="acme", messages=shout, images=lambda _: (), order=-1)
        )
    )
    assert deck.chat_request("hello").messages[0].text == "HELLO"


def test_helmdeck_refusal_patterns_recognise_one_more_language(deck_with):
    dutch = RefusalPattern(
        language="nl", pattern=r"(?:het spijt me, (?:maar )?)?(?:dat|ik) (?:kan|mag) (?:ik )?(?:dat )?niet"
    )
    deck = deck_with(contributing("helmdeck_refusal_patterns", dutch))
    for text in ("Het spijt me, maar dat kan ik niet doen.", "I cannot help with that."):
        with pytest.raises(CallFailed) as caught:
            deck.decode(text, dict)
        assert caught.value.sub_cause == "refusal"


def test_malformed_refusal_patterns_name_their_plugin_at_start_up(deck_with):
    for pattern, problem in (("ik (kan", "is not a regular expression"), ("(?:nee)?", "matches the empty string")):
        plugin = contributing("helmdeck_refusal_patterns", RefusalPattern(language="nl", pattern=pattern))
        with pytest.raises(PluginError, match=f"plugin 'acme-1'.*RefusalPattern 'nl': .*{problem}"):
            deck_with(plugin)


def test_helmdeck_tool_call_formats_are_found_in_text(deck_with):
    call_format = ToolCallFormat(name="acme", open=("<<run ",), close=(">>",), head=r"(?P<name>\w+) ")
    deck = deck_with(contributing("helmdeck_tool_call_formats", call_format))
    found = deck.tool_calls('I look. <<run search {"q": "a >> b"}>>')
    assert (found.text, found.calls[0].call.name, found.calls[0].args) == ("I look.", "search", {"q": "a >> b"})
    assert found.calls[0].format == "acme"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"open": ("<x>",), "head": "("}, "head is not a valid regular expression"),
        ({"open": ("<x>",), "head": "x"}, "head has no group 'name'"),
        ({"open": ("",)}, "a mark is empty"),
        ({}, "neither an opening mark nor a protocol"),
        ({"open": ("<x>",), "argument": "<(?P<key>a)>"}, "require each other"),
    ],
)
def test_helmdeck_tool_call_formats_that_cannot_work_name_their_plugin(deck_with, fields, words):
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*ToolCallFormat 'acme': .*{words}"):
        deck_with(contributing("helmdeck_tool_call_formats", ToolCallFormat(name="acme", **fields)))


def test_helmdeck_tool_call_formats_whose_translation_fails_name_their_plugin(deck_with):
    call_format = ToolCallFormat(name="acme", open=("@@",), translate=lambda text: 1 / 0)
    deck = deck_with(contributing("helmdeck_tool_call_formats", call_format))
    with pytest.raises(PluginError, match="plugin 'acme-1'.*ZeroDivisionError"):
        deck.tool_calls("@@{a}")


class SilentReader:
    """Finds no call in any response."""

    def read(self, text, **options):
        return ToolCalls(text=f"read: {text}")

    def judge(self, response, **options):
        return ToolCalls(text=f"judged: {response.text}")


def test_helmdeck_tool_call_readers_with_the_lowest_order_read_all_calls(deck_with):
    first = ToolCallReaderSpec(name="acme", open=lambda context: SilentReader(), order=-1)
    last = ToolCallReaderSpec(name="acme", open=lambda context: 1 / 0, order=1)
    written = '<tool_call>{"name": "search", "arguments": {}}</tool_call>'
    response = ChatResponse(text="x", stop_reason=StopReason.END_TURN, raw_stop_reason="stop")
    deck = deck_with(contributing("helmdeck_tool_call_readers", first))
    assert deck.tool_calls(written).text == f"read: {written}"
    assert deck.tool_calls(response).text == "judged: x"
    assert len(deck_with(contributing("helmdeck_tool_call_readers", last)).tool_calls(written).calls) == 1


@pytest.mark.parametrize(
    ("opened", "words"),
    [(lambda context: 1 / 0, "ZeroDivisionError"), (lambda context: object(), "has no method read")],
)
def test_helmdeck_tool_call_readers_that_cannot_be_opened_name_their_plugin(deck_with, opened, words):
    spec = ToolCallReaderSpec(name="formats", open=opened)
    with pytest.raises(PluginError, match=f"plugin 'acme-1'.*{words}"):
        deck_with(contributing("helmdeck_tool_call_readers", spec))


def test_helmdeck_tool_call_readers_that_fail_later_name_their_plugin(deck_with):
    class Careless(SilentReader):
        def judge(self, response, **options):
            return None

    spec = ToolCallReaderSpec(name="formats", open=lambda context: Careless())
    deck = deck_with(contributing("helmdeck_tool_call_readers", spec))
    with pytest.raises(PluginError, match="plugin 'acme-1'.*returned NoneType, not ToolCalls"):
        deck.tool_calls(ChatResponse(text="x", stop_reason=StopReason.END_TURN, raw_stop_reason="stop"))


def test_without_a_reader_of_tool_calls_reading_them_is_an_error():
    with (
        make_deck(config={"plugins": {"disable": ["tool_call_reader"]}}) as deck,
        pytest.raises(InvalidRequest, match=r"no plugin contributes a reader of tool calls; see plugins\.disable"),
    ):
        deck.tool_calls("x")


def test_helmdeck_packs_can_be_planned_and_run(deck_with):
    async def run(context, value):
        return {"twice": value["n"] * 2}

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
    assert [record.model for record in deck.history.records()] == [FREE]


def test_helmdeck_histories_with_the_lowest_order_record_the_plans(answering):
    class Recording(History):
        is_enabled = True

        def __init__(self, setup):
            self.setup, self.records, self.is_closed = setup, [], False

        def learned(self, caller, request):
            return Learned({}, {"tone": "expert"})

        def remember(self, record, request="", arguments=()):
            self.records.append((record.outcome, request))

        def close(self):
            self.is_closed = True

    plugin = contributing("helmdeck_histories", HistorySpec(name="acme", open=Recording, order=-1))
    deck, provider = answering(GOOD, beside=(plugin,))
    with deck:
        deck.plan("draft a post", model=FREE)
        assert deck.history.records == [("planned", "draft a post")]
        assert "expert" in provider.requests[-1].messages[-1].text
        assert not deck.history.setup.is_enabled, "no store is configured"
    assert deck.history.is_closed


@pytest.mark.parametrize("opened", [lambda setup: 1 / 0, lambda setup: object()])
def test_helmdeck_histories_that_cannot_be_opened_name_their_plugin(deck_with, opened):
    with pytest.raises(PluginError, match=r"plugin 'acme-1'.*HistorySpec 'learning'"):
        deck_with(contributing("helmdeck_histories", HistorySpec(name="learning", open=opened)))


def test_deck_works_without_any_history(answering):
    deck, _ = answering(GOOD, config={"plugins": {"disable": ["history"]}})
    assert deck.plan("draft a post", model=FREE).steps
    assert not deck.history.is_enabled


def test_helmdeck_pipelines_are_entries_that_run(deck_with):
    async def shout(context, arguments):
        return {"text": arguments["text"].upper()}

    steps = [{"id": "s", "pack": "acme.shout", "with": {"text": "{{inputs.t}}"}}]
    data = {
        "description": "Shout.",
        "steps": steps,
        "inputs": {"t": {"type": "string"}},
        "outputs": {"o": "{{steps.s.text}}"},
    }
    packs = contributing("helmdeck_packs", Pack(name="acme.shout", version="1", description="Shout.", run=shout))
    deck = deck_with(contributing("helmdeck_pipelines", Pipeline(name="acme-shout", data=data)), packs)
    with deck:
        assert [entry.id for entry in deck.catalog.pipelines if entry.source == "plugins"] == ["acme-shout"]
        assert deck.run("acme-shout", {"t": "hi"})["outputs"] == {"o": "HI"}


def test_helmdeck_run_engines_execute_runs_and_are_chosen_by_name(deck_with):
    opened = []

    class Engine:
        def __init__(self, **fields):
            opened.append(fields)

        def close(self):
            opened.append("closed")

    plugin = contributing("helmdeck_run_engines", RunEngineSpec(name="acme", open=Engine))
    with deck_with(plugin, config={"runs": {"engine": "acme", "url": "acme://runs"}}) as deck:
        assert isinstance(deck.runs, Engine)
        assert deck.runs is deck.runs
        assert (opened[0]["url"], opened[0]["config"].keep_days) == ("acme://runs", 30.0)
        assert "pipeline" in opened[0]["programs"]
    assert opened[1:] == ["closed"]
    with pytest.raises(ConfigError, match=r"unknown run engine.*'acm'"):
        deck_with(plugin, config={"runs": {"engine": "acm"}})


def test_helmdeck_run_programs_execute_runs_of_their_kind(deck_with):
    from helmdeck_runs import Run, runs_of

    async def program(run, steps, context):
        async def greet(name):
            return f"hello {name}"

        return await steps.run("greet", greet, run.inputs["name"])

    plugin = contributing("helmdeck_run_programs", RunProgram(name="acme", run=program))
    with deck_with(plugin) as deck:
        record = asyncio.run(runs_of(deck).execute(Run(kind="acme", name="greeting", inputs={"name": "Ada"})))
        assert record.output == "hello Ada"


def test_helmdeck_secret_patterns_redact_keys_that_no_deployment_knows(chat_server, deck_with):
    server = chat_server(
        lambda body: (400, {}, {"error": {"message": "key acme:0123-4567 and AIzaSyabcdef012345 are revoked"}})
    )
    config = {"providers": {"vllm": {"base_url": server.base_url}}}
    plugin = contributing("helmdeck_secret_patterns", SecretPattern(name="acme", pattern=r"\bacme:[\d-]{6,}"))
    messages = (Message(Role.USER, (TextPart("go"),)),)
    for deck, detail in (
        (deck_with(plugin, config=config), "key [redacted] and [redacted] are revoked"),
        (deck_with(config=config), "key acme:0123-4567 and [redacted] are revoked"),
    ):
        with pytest.raises(CallFailed) as caught:
            deck.complete(ChatRequest(model="vllm/any", messages=messages))
        assert caught.value.detail == detail


def test_keys_in_failures_of_any_provider_are_redacted(deck_with):
    class Careless:
        async def complete(self, request):
            raise InvalidRequest("wrong", detail="the key sk-abcdef012345 is revoked")

        async def aclose(self):
            pass

    deck = deck_with(contributing("helmdeck_providers", ProviderSpec(name="careless", open=lambda s, c: Careless())))
    with pytest.raises(InvalidRequest) as caught:
        deck.complete(ChatRequest(model="careless/any", messages=(Message(Role.USER, (TextPart("go"),)),)))
    assert caught.value.detail == "the key [redacted] is revoked"


def test_helmdeck_commands_are_collected(deck_with):
    command = Command(name="brew", summary="brews", configure=lambda parser: None, run=lambda arguments: 0)
    deck = deck_with(contributing("helmdeck_commands", command))
    owners = {owned.value.name: owned.plugin for owned in deck.runtime.contributions["helmdeck_commands"]}
    assert owners.keys() > {"brew", "plan", "config show"}
    assert owners["plan"] == "command_plan" != owners["brew"]


@pytest.mark.parametrize("is_active", [True, False])
def test_helmdeck_event_sinks_get_events_only_while_they_are_active(answering, is_active):
    events = []
    sink = EventSink(name="acme", handle=events.append, is_active=lambda: is_active)
    deck, _ = answering(GOOD, beside=(contributing("helmdeck_event_sinks", sink),))
    deck.plan("draft a post", model=FREE)
    assert bool(events) is is_active
