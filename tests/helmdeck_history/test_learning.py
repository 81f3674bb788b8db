"""What is learned from a history: weights, defaults, sketches; facts; and the commands that show and delete it."""

import asyncio
import json
import stat
import time

import pytest

from helmdeck_core import Catalog, HistoryFailed, PackError, PlanRecord, RecordedStep, intent_sha
from helmdeck_history import EPOCH_S, DeckHistory, Fact, history_of
from helmdeck_history import sketch as sketches
from helmdeck_history.learnable import learnable_values, usable_defaults
from helmdeck_history.memory import ranked
from helmdeck_history.sketch import deployment_secret, key_of, sketch
from helmdeck_testing import EventRecorder
from tests.case_support import each_case
from tests.cli_support import Cli, leave_the_machine

FREE = "openrouter/openrouter/free"
ASK = "make a picture of a boat"
START_S = EPOCH_S + 30 * 365 * 86_400
"""A time that does not expire while these tests are in use."""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A data directory of its own."""
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def deck_of(answering, data):
    def make(*replies, beside=(), **history):
        return answering(*replies, beside=beside, config={"history": {"url": "sqlite:", **history}})

    return make


def picture(style="photo"):
    step = {"tool": "image.generate", "args": {"prompt": "a secret boat", "style": style}, "rationale": "r"}
    return json.dumps({"steps": [step], "reasoning": "x"})


def prompt(provider):
    return provider.requests[-1].messages[-1].text


# -- weights ----------------------------------------------------------------------------------------------------


def test_weights_are_the_same_for_hours(deck_of, monkeypatch):
    deck, _ = deck_of(picture())
    deck.plan(ASK, model=FREE)
    first, now = deck.history.learned("local", ASK).planned, time.time()
    monkeypatch.setattr("helmdeck_history.service.time.time", lambda: now + 3 * 3_600)
    assert first == deck.history.learned("local", ASK).planned == {"image.generate": 0.5}
    monkeypatch.setattr("helmdeck_history.service.time.time", lambda: now + 14 * 86_400)
    assert deck.history.learned("local", ASK).planned == {"image.generate": 0.33}


def test_weights_grow_with_use_and_apply_to_similar_requests_of_the_same_caller(deck_of):
    deck, _ = deck_of(picture())
    weights = []
    for _ in range(3):
        deck.plan(ASK, model=FREE, caller="ada")
        weights.append(deck.history.learned("ada", ASK).planned["image.generate"])
    assert weights == pytest.approx([0.5, 2 / 3, 0.75], abs=0.01)
    assert 0 < deck.history.learned("ada", "please make a picture of a boat").planned["image.generate"] < 0.75
    assert not deck.history.learned("ada", "transcribe the recording").planned
    assert not deck.history.learned("bob", ASK).planned


def test_rank_select_and_explain_take_the_caller(deck_of):
    deck, _ = deck_of('{"steps":[{"tool":"audio.transcribe","args":{},"rationale":"r"}]}')
    deck.plan(ASK, model=FREE, caller="ada")

    def place(caller):
        return [score.id for score in deck.rank(ASK, model=FREE, caller=caller).scores].index("audio.transcribe")

    assert place("ada") < place("bob")
    assert "history:planned before" in deck.rank(ASK, model=FREE, caller="ada").scores[place("ada")].matched
    assert deck.explain(ASK, model=FREE, caller="ada").to_dict()["learned"]["planned"] == {"audio.transcribe": 0.5}
    assert deck.explain(ASK, model=FREE, caller="bob").to_dict()["learned"]["planned"] == {}


def test_pipelines_are_recorded_by_their_id(deck_of):
    deck, _ = deck_of()
    pipeline = deck.catalog.pipelines[0].id
    step = {"tool": "helmdeck__pipeline-run", "args": {"id": pipeline, "inputs": {}}, "rationale": "r"}
    deck, _ = deck_of(json.dumps({"steps": [step]}))
    deck.plan(ASK, model=FREE)
    assert list(deck.history.plans()[0].tools) == [pipeline]


# -- defaults ---------------------------------------------------------------------------------------------------


def test_frequent_values_become_defaults_that_the_prompt_shows_as_learned(deck_of):
    deck, provider = deck_of(picture())
    for _ in range(3):
        deck.plan(ASK, model=FREE, caller="ada")
        assert "LEARNED DEFAULTS" not in prompt(provider)
    deck.plan("draw a hero image", model=FREE, caller="ada", defaults={"tone": "expert"})
    assert '{"style":"photo"}' in prompt(provider).partition("LEARNED DEFAULTS")[2]
    assert '{"tone":"expert"}' in prompt(provider).partition("LEARNED DEFAULTS")[0]
    assert deck.explain(ASK, model=FREE, caller="ada").learned.defaults == {"style": "photo"}
    deck.plan(ASK, model=FREE, caller="bob")
    assert "LEARNED DEFAULTS" not in prompt(provider)


def test_defaults_of_the_call_override_learned_ones(deck_of):
    deck, provider = deck_of(picture())
    for _ in range(4):
        deck.plan(ASK, model=FREE, defaults={"style": "photo"})
    deck.plan(ASK, model=FREE, defaults={"style": "sketch"})
    assert "LEARNED DEFAULTS" not in prompt(provider)
    assert '"style":"sketch"' in prompt(provider)


def test_learned_default_is_not_counted_as_another_use(deck_of):
    deck, _ = deck_of(picture())
    for _ in range(6):
        deck.plan(ASK, model=FREE)
    (found,) = deck.history.defaults()
    assert (found.input, found.value, found.uses, found.total, found.is_applied) == ("style", "photo", 3, 3, True)


def test_value_without_a_clear_majority_is_no_default(deck_of):
    deck, _ = deck_of(*map(picture, ("photo", "sketch", "photo", "sketch", "photo", "sketch")))
    for _ in range(6):
        deck.plan(ASK, model=FREE)
    assert [(each.uses, each.is_applied) for each in deck.history.defaults()] == [(3, False), (3, False)]


def remember(deck, style, count, *, at_s, cause=None):
    """Record runs of a pack with a style, one second apart."""
    for second in range(count):
        step = RecordedStep(1, "image.generate", "0" * 16)
        record = PlanRecord(
            kind="run", caller="local", intent_sha="", outcome="run", cause=cause, model="", duration_s=1.0,
            time=at_s + second, steps=(step,),
        )  # fmt: skip
        deck.history.remember(record, arguments=({"style": style},))


def test_values_of_what_failed_become_no_defaults(deck_of):
    deck, _ = deck_of(picture())
    remember(deck, "photo", 5, at_s=START_S, cause="handler_failed")
    assert deck.history.defaults() == ()
    assert len(deck.history.records()) == 5


def test_a_default_ends_when_the_newest_uses_have_another_value(deck_of):
    deck, _ = deck_of(picture())
    remember(deck, "photo", 100, at_s=START_S)
    assert deck.history.learned("local", ASK).defaults == {"style": "photo"}
    remember(deck, "sketch", 10, at_s=START_S + 1_000)
    assert deck.history.learned("local", ASK).defaults == {"style": "photo"}
    remember(deck, "sketch", 10, at_s=START_S + 2_000)
    assert not deck.history.learned("local", ASK).defaults
    remember(deck, "photo", 15, at_s=START_S + 3_000)
    assert not deck.history.learned("local", ASK).defaults
    remember(deck, "photo", 15, at_s=START_S + 4_000)
    assert deck.history.learned("local", ASK).defaults == {"style": "photo"}


def test_free_text_is_not_recorded(deck_of, data):
    deck, _ = deck_of(picture())
    deck.plan("paint a clandestine boat", model=FREE)
    (record,) = deck.history.records()
    assert record.steps[0].values == {"style": "photo"}
    deck.close()
    content = b"".join(path.read_bytes() for path in data.iterdir())
    assert b"photo" in content and b"clandestine" not in content and b"secret boat" not in content


def entry_with(name, properties):
    packs = [{"name": name, "description": "d", "input_schema": {"type": "object", "properties": properties}}]
    return Catalog.from_data({"packs": packs}, "test").entries[0]


SCHEMAS = {
    "style": {"type": "string", "enum": ["photo", "sketch"]},
    "hosts": {"enum": [1, 2]},
    "strict": {"type": "boolean"},
    "language": {"type": "string", "x-helmdeck-learnable": True},
    "text": {"type": "string"},
    "private": {"type": "string", "enum": ["a"], "x-helmdeck-learnable": False},
}


@each_case(
    ("arguments", "expected"),
    [
        ({"style": "photo", "hosts": 2, "strict": True}, {"style": "photo", "hosts": 2, "strict": True}),
        ({"style": "my own words", "hosts": True, "strict": "yes"}, {}),
        ({"text": "words", "private": "a", "unknown": "x"}, {}),
        ({"language": "Portuguese"}, {"language": "Portuguese"}),
        ({"language": "x" * 65}, {}),
        ({"language": "two\nlines"}, {}),
        ({"language": ["de"]}, {}),
    ],
)
def test_only_values_of_learnable_inputs_are_recorded(arguments, expected):
    entry = entry_with("a.b", SCHEMAS)
    assert learnable_values(entry, arguments) == expected
    assert learnable_values(None, arguments) == {}


def test_default_that_another_entry_does_not_accept_is_not_applied():
    slides = entry_with("slides.render", {"format": {"enum": ["pdf"]}})
    audio = entry_with("audio.render", {"format": {"enum": ["mp3"]}})
    assert usable_defaults(Catalog((slides,)), {"format": "pdf", "gone": 1}) == {"format": "pdf"}
    assert usable_defaults(Catalog((slides, audio)), {"format": "pdf"}) == {}


# -- sketches ---------------------------------------------------------------------------------------------------


def test_sketches_need_the_same_key_and_contain_no_hash_of_a_word_alone():
    key, other = key_of("one secret"), key_of("another")
    assert sketch("Draw a Boat!", key) == sketch("draw, a boat", key)
    assert not set(sketch("draw a boat", key)) & set(sketch("draw a boat", other))
    assert sketch("", key) == sketch("a b", key) == ()
    words = " ".join(map(str, range(1000, 3000)))
    assert len(sketch(words, key)) == sketches.MAX_HASHES
    assert sketch(words, key) == sketch(words[: 5 * sketches.MAX_WORDS], key), "more words add nothing"


def test_secret_is_created_once_and_only_its_owner_can_read_it(data):
    assert deployment_secret() == deployment_secret()
    assert len(deployment_secret()) == 64
    assert [path.name for path in data.iterdir()] == ["history.key"]
    assert stat.S_IMODE((data / "history.key").stat().st_mode) == 0o600
    (data / "history.key").write_text("")
    with pytest.raises(ValueError, match="is empty; delete it"):
        deployment_secret()


def test_configured_secret_replaces_that_of_the_data_directory(deck_of, data, monkeypatch):
    monkeypatch.setenv("TEAM_SECRET", "shared by all hosts")
    deck, _ = deck_of(picture(), secret="env:TEAM_SECRET")
    deck.plan(ASK, model=FREE)
    assert deck.history.records()[0].sketch == sketch(ASK, key_of("shared by all hosts"))
    assert not (data / "history.key").exists()


def test_secret_that_cannot_be_read_is_reported_and_fails_no_plan(deck_of, monkeypatch):
    monkeypatch.delenv("TEAM_SECRET", raising=False)
    recorder = EventRecorder()
    deck, _ = deck_of(picture(), beside=(recorder,), secret="env:TEAM_SECRET")
    assert deck.plan(ASK, model=FREE).steps
    deck.history.flush()
    assert "secret" in recorder.of(HistoryFailed)[0].detail


# -- projections ------------------------------------------------------------------------------------------------


def test_coroutines_return_the_same(deck_of):
    deck, _ = deck_of(picture())

    async def run():
        async with deck:
            await deck.aplan(ASK, model=FREE)
            history = history_of(deck)
            assert await history.aplans() == history.plans() != ()
            assert await history.asimilar(ASK) == history.similar(ASK) != ()
            assert await history.adefaults() == history.defaults() != ()
            assert await history.aexport() == history.export() != ()
            assert await history.aforget(request=ASK) == 1
            assert await history.arecords() == ()

    asyncio.run(run())


def test_export_can_be_loaded_for_another_caller_and_known_ids_are_ignored(deck_of):
    deck, _ = deck_of(picture())
    deck.plan(ASK, model=FREE, caller="ada")
    deck.run("helmdeck.memory_store", {"text": "tea"}, caller="ada")
    rows = json.loads(json.dumps(deck.history.export("ada")))
    assert [row["kind"] for row in rows] == ["plan", "run", "fact"]
    assert deck.history.load(rows) == 3
    assert len(deck.history.export("ada")) == 3
    for _ in range(2):
        assert deck.history.load(rows, "bob") == 3
    assert [row["caller"] for row in deck.history.export("bob")] == ["bob"] * 3
    assert len(deck.history.export("ada")) == 3
    with pytest.raises(ValueError, match="row 2: not a record"):
        deck.history.load([rows[0], {"kind": "plan"}])


@each_case(
    "wrong",
    [
        {"time": 1.8e12},
        {"time": float("nan")},
        {"duration_s": float("inf")},
        {"intent_sha": "draft a post"},
        {"model": "a\x1fb"},
        {"sketch": [2**63]},
        {"sketch": [-1]},
        {"steps": "abc"},
    ],
)
def test_row_that_a_store_could_not_use_is_refused_with_its_number_and_field(deck_of, wrong):
    deck, _ = deck_of(picture())
    deck.plan(ASK, model=FREE)
    before = deck.history.export()
    ((field, _),) = wrong.items()
    with pytest.raises(ValueError, match=rf"row 2: .*{field}"):
        deck.history.load([{**before[0], "id": "1"}, {**before[0], "id": "2", **wrong}])
    assert deck.history.export() == before


def test_expired_rows_are_not_counted_as_loaded(deck_of):
    deck, _ = deck_of(picture())
    deck.plan(ASK, model=FREE)
    deck.run("helmdeck.memory_store", {"text": "tea"})
    rows = {row["kind"]: row for row in deck.history.export()}
    expired = [{**rows["plan"], "id": "1", "time": 1.0}, {**rows["fact"], "id": "2", "expires": 1.0}]
    assert deck.history.load([*expired, {**rows["plan"], "id": "3"}]) == 1


def test_row_that_the_store_refuses_is_not_a_fault_of_the_plugin(deck_of):
    deck, _ = deck_of(picture())
    deck.plan(ASK, model=FREE)
    (row,) = deck.history.export()
    with pytest.raises(ValueError, match="a row cannot be stored"):
        deck.history.load([{**row, "id": "1", "caller": "\ud800"}])


def test_request_can_be_named_by_its_hash(deck_of):
    deck, _ = deck_of(picture())
    deck.plan(ASK, model=FREE)
    deck.plan("draw a hero image", model=FREE)
    assert deck.history.forget(request=intent_sha(ASK)) == 1
    assert deck.history.forget(tool="image.generate", before=1.0) == 0
    assert len(deck.history.records()) == 1


def test_history_of_a_deck_without_store_is_empty(deck_with):
    history = history_of(deck_with())
    assert type(history) is DeckHistory and not history.is_enabled
    assert history.flush() and history.load([]) == history.purge() == 0


# -- facts ------------------------------------------------------------------------------------------------------


def test_facts_are_found_by_their_words_and_kept_per_caller(deck_of):
    deck, _ = deck_of()
    for text in ("Ada's train leaves at nine", "the office plant needs water", "trains to Rome are slow"):
        deck.run("helmdeck.memory_store", {"text": text, "tags": ["travel"] if "train" in text else []}, caller="ada")
    deck.run("helmdeck.memory_store", {"text": "my train is late"}, caller="bob")

    def search(caller="ada", query="", **arguments):
        found = deck.run("helmdeck.memory_search", {"query": query, **arguments}, caller=caller)["entries"]
        return [each["text"] for each in found]

    assert search(query="when does the train leave?")[0] == "Ada's train leaves at nine"
    assert search(query="travel", limit=1) == ["trains to Rome are slow"], "tags count, and the newest is first"
    assert search(query="unrelated") == []
    assert len(search()) == 3
    assert search("bob") == ["my train is late"]
    (entry, *_) = deck.run("helmdeck.memory_search", {"query": "plant"}, caller="ada")["entries"]
    assert deck.history.forget("bob", fact=entry["memory_id"]) == 0
    assert deck.history.forget("ada", fact=entry["memory_id"]) == 1
    assert search(query="plant") == []
    deck.history.forget("ada")
    assert search() == [] and search("bob") != []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"text": "  "}, "text is empty"),
        ({"text": "ü" * 5_000}, "10,000 bytes"),
        ({"text": "x", "tags": ["Helmdeck.audit"]}, "reserved"),
        ({"text": "x", "days": 0.01}, "an hour"),
        ({"text": "x", "days": 366}, "365"),
    ],
)
def test_invalid_facts_are_refused(deck_of, arguments, words):
    deck, _ = deck_of()
    with pytest.raises(PackError, match=f"invalid_input.*{words}"):
        deck.run("helmdeck.memory_store", arguments)


def test_facts_need_a_store(deck_with):
    with pytest.raises(PackError, match=r"no history store is configured; set \[history\] url"):
        deck_with().run("helmdeck.memory_search", {"query": "x"})


def test_rare_words_count_more():
    facts = [
        Fact(id=str(n), caller="a", text=text, time=0, expires=1)
        for n, text in enumerate(("tea cup", "tea pot", "tea"))
    ]
    assert [fact.text for fact, _ in ranked(facts, "tea pot")] == ["tea pot", "tea cup", "tea"]


# -- commands ---------------------------------------------------------------------------------------------------


@pytest.fixture
def cli(capsys, monkeypatch, tmp_path, data):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.setattr("helmdeck_core.cli.options.DEFAULT_HISTORY", "sqlite:")
    return Cli(capsys)


def test_command_line_records_and_shows_its_plans(cli, data):
    for _ in range(3):
        assert cli("plan", "--default", "style=photo", "generate an image of a boat").code == 0
    assert stat.S_IMODE((data / "history.db").stat().st_mode) == 0o600
    plans = cli("history", "plans")
    assert "image.generate (3)" in plans.out and "local/lexical (3)" in plans.out
    assert "yes" in cli("history", "defaults").out
    assert "1.00" in cli("history", "similar", "generate an image of a boat").out
    assert 'defaults: {"style": "photo"}' in cli("explain", "draw a hero image").out
    assert json.loads(cli("history", "plans", "--json", "--caller", "bob").out) == {"caller": "bob", "plans": []}


def test_plan_and_route_of_the_command_line_take_a_caller(cli):
    request = "generate an image of a boat"
    assert cli("plan", "--caller", "bob", request).code == 0
    assert cli("route", "--caller", "bob", request).code == 0
    (group,) = json.loads(cli("history", "plans", "--json", "--caller", "bob").out)["plans"]
    assert (group["plans"], group["tools"]["image.generate"]) == (2, 2)
    assert json.loads(cli("history", "plans", "--json").out)["plans"] == []


def test_export_forget_and_import_of_the_command_line(cli, tmp_path):
    cli("plan", "generate an image of a boat")
    lines = cli("history", "export").out
    assert json.loads(lines)["kind"] == "plan"
    assert cli("history", "forget").code == 2
    assert cli("history", "forget", "--before", "soon").code == 2
    assert cli("history", "forget", "--before", "1d").out == "0 deleted\n"
    assert cli("history", "forget", "--all").out == "1 deleted\n"
    assert cli("history", "export").err == "nothing is stored for the caller 'local' in this project\n"
    (tmp_path / "rows.jsonl").write_text(lines)
    assert cli("history", "import", str(tmp_path / "rows.jsonl")).out == "1 imported\n"
    assert json.loads(cli("history", "export").out) == json.loads(lines)
    (tmp_path / "rows.jsonl").write_text("{}\nx")
    assert "rows.jsonl: line 2 is not JSON" in cli("history", "import", str(tmp_path / "rows.jsonl")).err
    (tmp_path / "rows.jsonl").write_text("[1]")
    assert "rows.jsonl: row 1: not an object, found list" in cli("history", "import", str(tmp_path / "rows.jsonl")).err


def test_commands_say_that_the_history_is_disabled(cli, monkeypatch):
    monkeypatch.setenv("HELMDECK_HISTORY__URL", "off")
    done = cli("history", "plans")
    assert done.code == 2 and "the history is disabled" in done.err
