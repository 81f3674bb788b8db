"""Choosers: who chooses the tool of a single step, when a model is called for it, and for what."""

import asyncio
import json

import pytest

from helmdeck_core import (
    LIKELIHOOD_INCOMPLETE,
    UNKNOWN_TOOL,
    AuthFailed,
    Catalog,
    ChatResponse,
    Choice,
    ChoiceTask,
    Chooser,
    CompletedStep,
    ConfigError,
    Entry,
    EntryKind,
    InvalidRequest,
    PluginError,
    ProviderSpec,
    ProviderUnavailable,
    StopReason,
    Task,
    Usage,
)
from helmdeck_core.context.history_prior import with_prior
from helmdeck_planner.packs.plan import CONSTRAINT
from helmdeck_providers import constrained
from helmdeck_providers.schemas.server_dialects import JSON_SCHEMA
from helmdeck_testing import StubProvider, make_deck, plugin_with

TOOLS = [
    {"name": "weather.forecast", "description": "Returns the weather forecast of a city"},
    {"name": "weather.history", "description": "Returns the weather of a city in the past", "metadata": {}},
    {
        "name": "mail.send",
        "description": "Sends a mail to a person",
        "input_schema": {
            "type": "object",
            "properties": {"recipient": {"type": "string"}, "mood": {"type": "string"}},
            "required": ["mood"],
        },
    },
    {"name": "stock.price", "description": "Returns the price of a share"},
]
FORECAST = "what is the weather forecast for the city of Oslo"
MAIL = "send a mail to Anna"
FILLED = {"steps": [{"tool": "stock.price", "args": {"mood": "merry"}}]}


class Weighing(StubProvider):
    """A model whose server computes likelihoods: of every tool by a number."""

    def __init__(self, likely, *replies):
        super().__init__(*(replies or (FILLED,)))
        self.likely = likely

    async def complete(self, request):
        if request.likelihood is None:
            return await super().complete(request)
        self.requests.append(request)
        values = [next(v for name, v in self.likely.items() if name in prompt) for prompt in request.likelihood.prompts]
        return ChatResponse(
            text="",
            stop_reason=StopReason.END_TURN,
            likelihoods=tuple(values),
            usage=Usage(input_tokens=90, output_tokens=9),
        )


class Labelling(StubProvider):
    """A model that gives labels probabilities, by position."""

    def __init__(self, *by_position):
        super().__init__(FILLED)
        self.by_position = by_position

    async def complete(self, request):
        if not request.logprobs:
            return await super().complete(request)
        self.requests.append(request)
        listed = dict(zip("ABCD", self.by_position, strict=False))
        return ChatResponse(text="A", stop_reason=StopReason.MAX_TOKENS, token_logprobs=(listed,))


@pytest.fixture
def choosing(tmp_path):
    """Plans with a provider ``weak`` whose models use a chooser, and with a fallback model that can do everything."""
    catalog = tmp_path / "tools.json"
    decks = []

    def make(provider, chooser="ranker", *plugins, tools=TOOLS, fallback=(), constrain=None, **budget):
        catalog.write_text(json.dumps({"packs": tools}), encoding="utf-8")
        strong = StubProvider({"steps": [{"tool": "stock.price", "args": {}}]})
        providers = [
            ProviderSpec(name="weak", open=lambda *_: provider, constrain=constrain),
            ProviderSpec(name="strong", open=lambda *_: strong),
        ]
        config = {
            "catalog": {"sources": [str(catalog)]},
            "budgets": {"weak/": {"chooser": chooser, **budget}},
            "fallback": {"weak/": list(fallback)},
            "selection": {"rankers": {"lexical": {"meaning": 0.0}}},
        }
        deck = make_deck(plugin_with(helmdeck_providers=providers), *plugins, config=config)
        decks.append(deck)
        return deck

    yield make
    for deck in decks:
        deck.close()


def plan(deck, request, **options):
    return deck.plan(request, model="weak/one", **options)


def tools_of(plan):
    return [step.tool for step in plan.steps]


# -- the ranker ----------------------------------------------------------------------------------------------


def test_no_model_is_called_for_a_tool_whose_arguments_are_stated(choosing):
    model = StubProvider(FILLED)
    found = plan(choosing(model), FORECAST)
    assert tools_of(found) == ["weather.forecast"]
    assert not model.requests
    assert [attempt.is_sent for attempt in found.attempts] == [False]


def test_model_is_called_for_arguments_alone_and_sees_the_chosen_tool_alone(choosing):
    model = StubProvider(FILLED)
    found = plan(choosing(model), MAIL)
    (request,) = model.requests
    prompt = "".join(message.text for message in request.messages)
    assert "mail.send" in prompt
    assert not any(tool["name"] in prompt for tool in TOOLS if tool["name"] != "mail.send")
    assert tools_of(found) == ["mail.send"], "the tool that the model names does not count"
    assert found.steps[0].args["mood"] == "merry"


def test_chosen_tool_stays_with_the_stated_arguments_where_the_model_writes_none(choosing):
    cut = ChatResponse(text='{"steps": [{"tool": "', stop_reason=StopReason.MAX_TOKENS, usage=Usage(output_tokens=9))
    found = plan(choosing(StubProvider(*[cut] * 9)), f"{MAIL}, recipient: anna@example.org")
    (step,) = found.steps
    assert (step.tool, step.args) == ("mail.send", {"recipient": "anna@example.org"})
    assert step.missing == ("mood",) and not found.steps[0].is_gap
    assert "no usable arguments (length_truncated)" in found.notices[0]
    assert found.choice.entry_id == "mail.send"
    assert len(found.attempts) > 1 and found.model == "weak/one"


def test_failure_that_says_nothing_about_the_arguments_is_raised(choosing):
    with pytest.raises(AuthFailed):
        plan(choosing(StubProvider(AuthFailed("rejected the credentials"))), MAIL)


def test_plan_shows_who_chose_and_how_probable_the_choice_is(choosing):
    wire = plan(choosing(StubProvider(FILLED)), FORECAST).to_dict()
    assert wire["choice"]["chooser"] == "ranker"
    assert wire["choice"]["id"] == "weather.forecast"
    assert 0 < wire["choice"]["probabilities"]["weather.forecast"] <= 1
    assert "choice" not in choosing(StubProvider(FILLED), "model").plan(FORECAST, model="weak/one").to_dict()


def test_request_that_matches_nothing_is_a_gap(choosing):
    found = plan(choosing(StubProvider(FILLED)), "xyzzy")
    assert [step.is_gap for step in found.steps] == [True]


@pytest.mark.parametrize("chooser", ["ranker", "logprobs"])
def test_entry_that_matches_by_a_number_alone_is_a_gap(choosing, chooser):
    tool = {"name": "grid.decode", "description": "Turns a code of three words into a place"}
    model = Weighing({"grid.decode": -1.0})
    found = plan(choosing(model, chooser, tools=[*TOOLS, tool]), "Half a leek, three eggs")
    assert [step.is_gap for step in found.steps] == [True]
    assert not model.requests


def test_entry_that_matches_by_one_word_of_its_description_is_unsure(choosing):
    found = plan(choosing(StubProvider(FILLED)), "a person with a leek")
    assert (tools_of(found), found.choice.is_sure) == (["mail.send"], False)
    assert plan(choosing(StubProvider(FILLED)), "stock for the leek").choice.is_sure


def test_request_whose_step_was_executed_is_complete(choosing):
    found = plan(choosing(StubProvider(FILLED)), FORECAST, done=[CompletedStep("weather.forecast", "rain")])
    assert not found.steps
    assert not found.more_steps_likely


def test_step_that_failed_is_planned_again(choosing):
    done = [CompletedStep("weather.forecast", failure="no connection")]
    assert tools_of(plan(choosing(StubProvider(FILLED)), FORECAST, done=done)) == ["weather.forecast"]


def test_clear_parts_of_a_request_are_planned_one_after_the_other(choosing):
    deck, request = choosing(StubProvider(FILLED)), "tell me the price of a share, then send a mail"
    first = plan(deck, request)
    assert (tools_of(first), first.more_steps_likely) == (["stock.price"], True)
    second = plan(deck, request, done=[CompletedStep("stock.price", "7")])
    assert (tools_of(second), second.more_steps_likely) == (["mail.send"], False)
    done = [CompletedStep("stock.price", "7"), CompletedStep("mail.send", "sent")]
    assert not plan(deck, request, done=done).steps


SHELF = [
    {
        "name": "update_stock",
        "description": "Set the number of articles of a kind",
        "input_schema": {
            "type": "object",
            "properties": {"article_id": {"type": "string"}, "count": {"type": "integer"}},
            "required": ["article_id", "count"],
        },
    },
    {
        "name": "stock.article",
        "description": "Returns the stock of an article",
        "input_schema": {
            "type": "object",
            "properties": {"article_id": {"type": "string"}},
            "required": ["article_id"],
        },
    },
    {
        "name": "write_note",
        "description": "Writes a note",
        "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
]
COUNT = "set the stock of article A-731 to 40"


@pytest.mark.parametrize("chooser", ["ranker", "logprobs"])
def test_entry_that_takes_what_the_request_states_is_chosen_without_ranker_and_model(choosing, chooser):
    model = Weighing({"stock.article": -1.0, "update_stock": -90.0, "write_note": -90.0})
    deck = choosing(model, chooser, tools=SHELF)
    assert deck.rank(COUNT).scores[0].id == "stock.article"
    found = plan(deck, COUNT)
    assert [(step.tool, step.args) for step in found.steps] == [("update_stock", {"article_id": "A-731", "count": 40})]
    assert found.choice.probability >= 0.9 and not model.requests


@pytest.mark.parametrize("chooser", ["ranker", "logprobs", "words"])
def test_part_that_nothing_fits_is_a_gap_after_the_other_parts(choosing, chooser):
    deck = choosing(StubProvider({"tool": "update_stock"}), chooser, tools=SHELF)
    request = f'water the plants, {COUNT}, and write a note "counted"'
    first = plan(deck, request)
    assert (tools_of(first), first.more_steps_likely) == (["update_stock"], True)
    done = [CompletedStep("update_stock")]
    assert tools_of(plan(deck, request, done=done)) == ["write_note" if chooser != "words" else "update_stock"]
    last = plan(deck, request, done=[*done, CompletedStep("write_note")])
    assert [step.is_gap for step in last.steps] == [True] and "water the plants" in last.steps[0].rationale
    assert not last.more_steps_likely


def test_entry_that_was_planned_before_does_not_fit_a_part_without_its_words(choosing):
    deck = choosing(StubProvider(FILLED), tools=SHELF)
    request = f"{COUNT} and water the plants"

    def rank(text):
        return with_prior(deck.rank(text), {0: 1.0}, deck.runtime.weights)

    task = ChoiceTask(
        request=request, catalog=deck.catalog, budget=deck.budget("weak/one").budget, ranking=rank(request), rank=rank,
        send=None, done=(CompletedStep("update_stock"),),
    )  # fmt: skip
    assert rank("water the plants").leading(1)
    choice = asyncio.run(deck.runtime.contributed(Chooser)["ranker"].value.choose(task))
    assert (choice.entry_id, choice.part) == ("", "water the plants")


BOOKING = {
    "name": "cancel_booking",
    "description": "Cancels a booking",
    "input_schema": {
        "type": "object",
        "properties": {"booking_id": {"type": "string"}, "reason": {"type": "string"}},
        "required": ["booking_id", "reason"],
    },
}


@pytest.mark.parametrize(
    ("request_text", "written", "is_stated"),
    [
        ("cancel my booking", "B-1234567890", False),
        ("cancel my booking B 77", "b77", True),
        ("cancel my booking\n\nYour number is 4711", "4711", True),
    ],
)
def test_id_that_a_model_writes_is_kept_only_if_it_occurs_somewhere(choosing, request_text, written, is_stated):
    model = StubProvider({"steps": [{"tool": "cancel_booking", "args": {"booking_id": written, "reason": "ill"}}]})
    found = plan(choosing(model, tools=[BOOKING, *TOOLS]), request_text)
    (step,) = found.steps
    assert step.args == ({"booking_id": written} if is_stated else {}) | {"reason": "ill"}
    assert step.missing == (() if is_stated else ("booking_id",))
    assert any("booking_id of cancel_booking was left out" in each for each in found.notices) is not is_stated


# -- probabilities -------------------------------------------------------------------------------------------

AGAINST_THE_RANKER = {"weather.history": -20.0, "weather.forecast": -60.0, "mail.send": -70.0, "stock.price": -70.0}


def test_likelihood_of_the_request_outweighs_the_ranker(choosing):
    model = Weighing(AGAINST_THE_RANKER)
    found = plan(choosing(model, "logprobs"), FORECAST)
    assert tools_of(found) == ["weather.history"]
    assert found.choice.probability > 0.9
    (request,) = model.requests
    assert request.likelihood.text == f'{FORECAST}"'
    assert all(request.likelihood.text not in prompt for prompt in request.likelihood.prompts)


def test_request_of_a_chooser_is_an_attempt_of_the_call_with_its_tokens(choosing):
    found = plan(choosing(Weighing(AGAINST_THE_RANKER), "logprobs"), FORECAST)
    choice, answer = found.attempts
    assert (choice.purpose, choice.usage, choice.is_sent) == ("choice", Usage(input_tokens=90, output_tokens=9), True)
    assert not answer.is_sent


def test_model_that_prefers_a_position_does_not_change_the_choice(choosing):
    for by_position in [(0.0, -9.0, -9.0), (-9.0, -9.0, 0.0)]:
        model = Labelling(*by_position)
        assert tools_of(plan(choosing(model, "logprobs"), FORECAST)) == ["weather.forecast"]
        first, second = model.requests
        lines = [[line for line in each.messages[0].text.splitlines() if line[1:3] == ". "] for each in (first, second)]
        assert [line[3:] for line in lines[0]] == [line[3:] for line in lines[1]][::-1]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("A", "returned no log-probabilities"), (InvalidRequest("no", detail="unknown field"), "unknown field")],
    ids=["ignored", "rejected"],
)
def test_ranker_chooses_where_the_server_gives_no_probabilities_and_no_further_request_is_sent(choosing, reply, reason):
    model = StubProvider(reply)
    deck = choosing(model, "logprobs")
    found = plan(deck, FORECAST)
    assert tools_of(found) == ["weather.forecast"]
    assert reason in found.choice.reason
    sent = len(model.requests)
    assert tools_of(plan(deck, FORECAST)) == ["weather.forecast"]
    assert len(model.requests) == sent


def test_ranker_chooses_for_a_text_without_a_likelihood_and_the_model_for_the_next_one(choosing):
    class Incomplete(Weighing):
        async def complete(self, request):
            if len(self.requests) == 0:
                self.requests.append(request)
                raise InvalidRequest("parts of characters", sub_cause=LIKELIHOOD_INCOMPLETE)
            return await super().complete(request)

    deck = choosing(Incomplete(AGAINST_THE_RANKER), "logprobs")
    first, second = plan(deck, FORECAST), plan(deck, FORECAST)
    assert "with such characters" in first.choice.reason
    assert tools_of(first) == ["weather.forecast"] != tools_of(second)


def test_server_known_to_give_no_probabilities_is_not_asked(choosing):
    model = Weighing(AGAINST_THE_RANKER)
    found = plan(choosing(model, "logprobs", supports_logprobs=False), FORECAST)
    assert tools_of(found) == ["weather.forecast"]
    assert not model.requests


def test_failure_of_the_model_that_is_to_weigh_leads_to_the_next_model(choosing):
    deck = choosing(StubProvider(ProviderUnavailable("down")), "logprobs", fallback=["strong/one"])
    found = plan(deck, FORECAST)
    assert (found.model, tools_of(found)) == ("strong/one", ["stock.price"])


# -- names alone ---------------------------------------------------------------------------------------------


def of_tools(request):
    """The names that a response may contain."""
    return request.response_format.schema["properties"]["tool"]["enum"]


def test_model_names_a_tool_of_a_closed_list_and_is_not_asked_for_stated_arguments(choosing):
    model = StubProvider({"tool": "stock.price"})
    found = plan(choosing(model, "words"), FORECAST)
    assert (tools_of(found), found.choice.chooser) == (["stock.price"], "words")
    (request,) = model.requests
    assert of_tools(request) == ["weather.forecast", "weather.history", "mail.send", "stock.price", UNKNOWN_TOOL]
    assert request.response_format.schema["additionalProperties"] is False


def test_arguments_of_a_named_tool_are_a_second_request_with_its_schema_alone(choosing):
    model = StubProvider({"tool": "mail.send"}, FILLED)
    found = plan(choosing(model, "words"), MAIL)
    assert tools_of(found) == ["mail.send"]
    assert found.steps[0].args["mood"] == "merry"
    assert [attempt.purpose for attempt in found.attempts] == ["choice", ""]
    assert "weather" not in "".join(message.text for message in model.requests[1].messages)


def test_unknown_tool_of_the_list_is_a_gap(choosing):
    found = plan(choosing(StubProvider({"tool": UNKNOWN_TOOL}), "words", fallback=["strong/one"]), FORECAST)
    assert (found.model, [step.is_gap for step in found.steps]) == ("weak/one", [True])


@pytest.mark.parametrize(
    "reply", ["", "no idea", {"tool": "no.such"}, {"name": 1}, [1], InvalidRequest("no schema")], ids=str
)
def test_ranker_chooses_where_the_model_names_no_tool(choosing, reply):
    found = plan(choosing(StubProvider(reply), "words"), FORECAST)
    assert tools_of(found) == ["weather.forecast"]
    assert "so the ranker chose" in found.choice.reason


def test_chosen_entry_that_is_not_the_first_of_its_part_completes_the_part(choosing):
    request = "tell me the price of a share, then send a mail"
    done = [CompletedStep("weather.history", "7")]
    found = plan(choosing(StubProvider({"tool": "mail.send"}, FILLED), "words"), request, done=done)
    assert (tools_of(found), found.choice.part, found.more_steps_likely) == (["mail.send"], "send a mail", False)
    assert not plan(choosing(StubProvider(FILLED), "words"), request, done=[*done, CompletedStep("mail.send")]).steps


def constrained_deck(choosing, model, **budget):
    """A deck whose model chooses itself, on a server that takes any schema."""
    return choosing(model, "model", constrain=lambda _, request: constrained(request.response_format, ("json_schema",), JSON_SCHEMA), enforces_schema=True, **budget)  # fmt: skip


def test_model_names_the_tool_first_where_the_schema_of_all_arguments_exceeds_its_catalog_limit(choosing):
    model = StubProvider({"tool": "mail.send"}, FILLED)
    found = plan(constrained_deck(choosing, model, max_catalog_bytes=800), MAIL)
    assert (tools_of(found), found.choice.chooser) == (["mail.send"], "words")
    assert of_tools(model.requests[0])[-1] == UNKNOWN_TOOL
    assert len(model.requests) == 2


def test_model_chooses_and_fills_arguments_in_one_request_where_the_schema_is_small(choosing):
    model = StubProvider(FILLED)
    found = plan(constrained_deck(choosing, model, max_catalog_bytes=9_000), MAIL)
    assert (tools_of(found), found.choice, len(model.requests)) == (["stock.price"], None, 1)


def test_dry_run_shows_whether_a_tool_is_named_first(choosing):
    for limit, chooser in ((800, "words"), (9_000, "")):
        deck = constrained_deck(choosing, StubProvider(FILLED), max_catalog_bytes=limit)
        assert deck.explain(MAIL, model="weak/one").chooser == chooser


# -- unsure choices ------------------------------------------------------------------------------------------

UNSURE = "tell me about the city"


def test_unsure_choice_is_left_to_the_next_model(choosing):
    found = plan(choosing(StubProvider(FILLED), fallback=["strong/one"]), UNSURE)
    assert (found.model, tools_of(found)) == ("strong/one", ["stock.price"])
    assert found.attempts[0].sub_cause == "unsure_choice"
    assert not found.attempts[0].is_sent


def test_unsure_choice_is_used_and_reported_where_no_other_model_is_left(choosing):
    found = plan(choosing(StubProvider(FILLED)), UNSURE)
    assert tools_of(found)[0].startswith("weather.")
    assert not found.choice.is_sure


def test_route_is_chosen_by_the_model_because_a_choice_has_no_alternatives(choosing):
    model = StubProvider({"recommendation": {"id": "stock.price"}})
    assert choosing(model, "ranker").route(FORECAST, model="weak/one").recommendation.id == "stock.price"
    assert len(model.requests) == 1


# -- choosers of plugins -------------------------------------------------------------------------------------


def chooser(name, choice):
    async def choose(task):
        if isinstance(choice, Exception):
            raise choice
        return choice

    return plugin_with(helmdeck_choosers=[Chooser(name=name, choose=choose)])


def test_chooser_of_a_plugin_is_used_by_name(choosing):
    deck = choosing(StubProvider(FILLED), "acme", chooser("acme", Choice(entry_id="stock.price")))
    found = plan(deck, FORECAST)
    assert (tools_of(found), found.choice.chooser) == (["stock.price"], "acme")


@pytest.mark.parametrize("choice", [Choice(entry_id="no.such"), "stock.price", ValueError("broken")], ids=str)
def test_chooser_that_misbehaves_is_named(choosing, choice):
    with pytest.raises(PluginError, match="acme"):
        plan(choosing(StubProvider(FILLED), "acme", chooser("acme", choice)), FORECAST)


def test_unknown_chooser_is_a_mistake_of_the_configuration():
    with pytest.raises(ConfigError, match="unknown chooser"):
        make_deck(config={"budgets": {"a/": {"chooser": "rankr"}}})


# -- requests and dry runs -------------------------------------------------------------------------


def test_arguments_are_constrained_by_the_smallest_schema_with_literal_values_first():
    entry = Entry(EntryKind.PACK, "mail.send", TOOLS[2])
    task = Task(
        name="plan",
        variant="arguments",
        model="weak/one",
        request='write "see you" to anna@example.com, angry',
        catalog=Catalog([entry]),
        chosen="mail.send",
    )
    (form,) = CONSTRAINT(task)
    step = form.schema["properties"]["steps"]["items"]
    assert step["properties"]["tool"]["enum"] == ["mail.send"]
    assert set(step["properties"]) == {"tool", "args"}
    values, free = step["properties"]["args"]["properties"]["mood"]["anyOf"]
    assert values["enum"] == ["see you", "anna@example.com"]
    assert free == {"$ref": "#/$defs/text"}


def test_dry_run_and_outline_name_the_chooser(choosing):
    assert choosing(StubProvider(FILLED)).explain(FORECAST, model="weak/one").chooser == "ranker"
    assert choosing(StubProvider(FILLED), "model").explain(FORECAST, model="weak/one").chooser == ""
    full = choosing(StubProvider(FILLED), "ranker", prompt_variant="full_steps")
    assert full.explain(FORECAST, model="weak/one").chooser == "", "a whole plan is not a single choice"
