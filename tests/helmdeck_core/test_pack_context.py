"""What a running pack can use: other packs, memory, options, a log, progress; and what its failure holds."""

import attrs
import pytest

from helmdeck_core import (
    CallLimits,
    ConfigError,
    LikelyTimeout,
    Pack,
    PackError,
    PackErrorCode,
    ProgressText,
    Question,
    hookimpl,
)
from helmdeck_core import log as helmdeck_log
from helmdeck_core.packs.runner import MAX_DEPTH
from helmdeck_runs import pack
from helmdeck_testing import Reply, make_deck, scripted_provider


class Packs:
    def __init__(self, *packs):
        self.packs = packs

    @hookimpl
    def helmdeck_packs(self):
        return self.packs


def calling(name, other):
    async def run(context, arguments):
        return {"inner": await context.run(other, arguments)}

    return Pack(name=name, version="1", description="x.", run=run)


@pack("t.inner")
async def inner(context, text: str = "") -> dict:
    """Return the context."""
    context.progress("inside", 2.0)
    path = context.artifacts.write("a.txt", text).path.name
    return {"text": text, "caller": context.caller, "model": context.model, "path": path}


def test_pack_runs_another_with_the_same_caller_model_artifacts_and_progress(deck_with, tmp_path):
    seen = []
    deck = deck_with(Packs(calling("t.outer", "t.inner"), inner), config={"packs": {"artifacts": str(tmp_path)}})
    output = deck.run("t.outer", {"text": "x"}, caller="ann", model="scripted/a", progress=seen.append)
    assert output == {"inner": {"text": "x", "caller": "ann", "model": "scripted/a", "path": "a.txt"}}
    assert seen == ["inside"] and seen[0].fraction == 1.0, "a share is at most the whole"


def test_packs_that_run_each_other_are_stopped(deck_with):
    deck = deck_with(Packs(calling("t.a", "t.b"), calling("t.b", "t.a"), calling("t.self", "t.self")))
    with pytest.raises(PackError, match="t.a -> t.b -> t.a: a pack cannot run itself") as caught:
        deck.run("t.a", {})
    assert caught.value.code is PackErrorCode.HANDLER_FAILED
    with pytest.raises(PackError, match="t.self -> t.self"):
        deck.run("t.self", {})
    chain = [calling(f"t.p{number}", f"t.p{number + 1}") for number in range(MAX_DEPTH + 1)]
    with pytest.raises(PackError, match=f"{MAX_DEPTH} levels deep"):
        deck_with(Packs(*chain)).run("t.p0", {})


def test_input_of_an_inner_pack_is_checked_and_its_failure_is_the_outer_one(deck_with):
    deck = deck_with(Packs(calling("t.outer", "t.inner"), inner))
    with pytest.raises(PackError) as caught:
        deck.run("t.outer", {"text": 3})
    assert (caught.value.pack, caught.value.code) == ("t.inner", PackErrorCode.INVALID_INPUT)
    with pytest.raises(PackError, match="no installed pack has this name"):
        deck_with(Packs(calling("t.outer", "t.missing"))).run("t.outer", {})


def test_deadline_covers_the_inner_pack(virtual_time):
    async def ask(context, value):
        return {
            "x": (await context.ask(Question(caller="t", task="t", type=dict, request="x", instructions="i"))).value
        }

    asking = Pack(name="t.ask", version="1", description="x.", run=ask)
    script = scripted_provider([Reply("{}", delay_s=30)])
    with make_deck(Packs(calling("t.outer", "t.ask"), asking), script) as deck, pytest.raises(LikelyTimeout):
        deck.run("t.outer", {}, model="scripted/a", limits=CallLimits(deadline_s=0.1))


def test_memory_is_that_of_the_caller(deck_with, tmp_path):
    @pack("t.remember")
    async def remember(context, text: str = "") -> dict:
        """Store and search."""
        if text:
            await context.memory.store(text, tags=["t"])
        return {"texts": [each["text"] for each in await context.memory.search("tea")]}

    deck = deck_with(Packs(remember), config={"history": {"url": f"sqlite:{tmp_path}/history.db"}})
    assert deck.run("t.remember", {"text": "likes green tea"}, caller="ann") == {"texts": ["likes green tea"]}
    assert deck.run("t.remember", {}, caller="bob") == {"texts": []}
    with pytest.raises(PackError, match="no history store is configured"):
        deck_with(Packs(remember)).run("t.remember", {"text": "x"})


# -- options ---------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Options:
    root: str = ""
    hosts: tuple[str, ...] = ()
    limit: int = 3


@pack("box.open", options=Options, requires=("root",))
async def open_box(context) -> dict:
    """Open a box."""
    return {"root": context.options.root, "hosts": list(context.options.hosts), "folder": str(context.folder)}


def test_options_are_converted_and_a_pack_without_its_own_is_not_listed(deck_with):
    configured = {"packs": {"options": {"box": {"root": "here", "hosts": ["a"]}}}}
    deck = deck_with(Packs(open_box), config=configured)
    assert deck.run("box.open", {})["root"] == "here" and deck.can_run("box.open")
    assert deck.catalog.get("box.open") is not None
    without = deck_with(Packs(open_box))
    assert without.catalog.get("box.open") is None and not without.can_run("box.open")
    with pytest.raises(PackError, match=r"not configured: set root in \[packs.options.box\]") as caught:
        without.run("box.open", {})
    assert caught.value.code is PackErrorCode.HANDLER_FAILED


def test_all_mistakes_of_options_are_reported_at_once(deck_with):
    wrong = {"bxo": {}, "box": {"rot": "x", "limit": "three"}}
    with pytest.raises(ConfigError) as caught:
        deck_with(Packs(open_box), config={"packs": {"options": wrong}})
    text = str(caught.value)
    assert "bxo" in text and "rot" in text and "did you mean 'root'" in text and "limit" in text


def test_what_can_run_is_what_is_installed(deck_with):
    deck = deck_with()
    assert deck.can_run("blog.draft") and not deck.can_run("web.search") and not deck.can_run("research-to-blog")


# -- log, failures -----------------------------------------------------------------------------------------------


def test_log_lines_are_redacted_and_silent_until_the_log_is_enabled(deck_with, capsys):
    @pack("t.log")
    async def logs(context) -> None:
        """Write a line."""
        context.logger.info("fetched {x}\nwith Bearer abcdef1234567890abcdef", path="a\nb", size=3)

    deck = deck_with(Packs(logs))
    deck.run("t.log", {})
    assert capsys.readouterr().err == ""
    helmdeck_log.enable("INFO")
    try:
        deck.run("t.log", {})
    finally:
        helmdeck_log.disable()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "fetched" in line]
    assert "{x}" in line and "'pack': 't.log'" in line and "'size': 3" in line
    assert "abcdef1234567890abcdef" not in line


def test_failed_pack_delivers_its_output_beside_the_error(deck_with):
    async def run(context, value):
        raise PackError("t.it", PackErrorCode.ARTIFACT_FAILED, "silent", output={"findings": ["3 s of silence"]})

    with pytest.raises(PackError) as caught:
        deck_with(Packs(Pack(name="t.it", version="1", description="x.", run=run))).run("t.it", {})
    assert caught.value.to_dict()["output"] == {"findings": ["3 s of silence"]}
    assert "output" not in PackError("t.it", "internal", "x").to_dict()


def test_progress_text_is_a_string():
    assert ProgressText("x") == "x" and ProgressText("x").fraction is None
    assert ProgressText("x", -1).fraction == 0.0
