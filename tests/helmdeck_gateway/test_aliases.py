"""Names that clients send for models: one model, a chain of models, models with weights."""

import collections
import json

import pytest

from helmdeck_core import ConfigError, InvalidRequest
from helmdeck_core.cli import main
from helmdeck_gateway import GatewaySettings
from helmdeck_gateway.calls.aliases import Chain, read_aliases
from helmdeck_gateway.calls.targets import Targets
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, make_deck
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream


def test_alias_is_a_model_a_chain_or_a_table_of_weights():
    aliases, mistakes = read_aliases(
        {"one": " up/m ", "chain": ["up/a", "up/b", "up/c"], "shares": {"up/x": 1, "up/y": 3}}
    )
    assert mistakes == []
    assert aliases["one"].chains == (Chain(model="up/m"),)
    assert aliases["chain"].chains == (Chain(model="up/a", fallbacks=("up/b", "up/c")),)
    assert [chain.models for chain in aliases["shares"].chains] == [("up/y", "up/x"), ("up/x", "up/y")]
    assert [aliases["shares"].choose(share).model for share in (0.0, 0.74, 0.76, 0.99)] == ["up/y"] * 2 + ["up/x"] * 2


def test_every_mistake_of_the_aliases_is_reported_at_once():
    models = {"a": "x", "b": [], "c": ["up/m", 7], "d": {"up/m": 0, "/": 1}, "e": 5, "f": ["up/m", "up/m"], "g": "up/m"}
    with pytest.raises(ConfigError) as caught:
        GatewaySettings.read({"models": models, "ping": 3, "port": 70_000})
    places = [mistake.where for mistake in caught.value.mistakes]
    expected = ["gateway.ping", *(f"gateway.models.{name}" for name in "abcd"), "gateway.models.d.up/m"]
    assert places == [*expected, "gateway.models.e", "gateway.models.f", "gateway.port"]


def test_configuration_check_covers_the_gateway_and_the_providers_of_its_models(capsys, tmp_path):
    file = tmp_path / "helmdeck.toml"
    file.write_text('[gateway]\nmax_request = 5\n[gateway.models]\nfast = ["nowhere/m", "local/lexical"]\nslow = "x"\n')
    assert main(["config", "check", "--config", str(file), "--no-plugins"]) == 2
    err = capsys.readouterr().err
    assert "3 mistakes" in err
    for text in ("did you mean 'max_requests'", "gateway.models.slow", "there is no provider 'nowhere'"):
        assert text in err
    file.write_text('[gateway]\nping_s = 5\nkey = "env:SECRET"\nstore = "redis://me:pw@host"\n')
    assert main(["config", "show", "--json", "--config", str(file), "--no-plugins"]) == 0
    shown = {row["key"]: row["value"] for row in json.loads(capsys.readouterr().out)["settings"]}
    assert (shown["gateway.ping_s"], shown["gateway.key"]) == (5, "env:SECRET")
    assert "pw" not in shown["gateway.store"]


def test_conversations_are_spread_by_weight_and_keep_their_model():
    deck = make_deck()
    targets = Targets(deck, read_aliases({"fast": {"local/a": 3, "local/b": 1}})[0])
    counts = collections.Counter(
        targets.find("fast", lambda n=n: f"conversation {n}".encode()).model for n in range(400)
    )
    assert 260 < counts["local/a"] < 340
    assert len({targets.find("fast", lambda: b"one").model for _ in range(20)}) == 1
    assert targets.find("fast", lambda: b"one").fallbacks in (("local/a",), ("local/b",))


@pytest.fixture(scope="module")
def servers():
    both = FormatServer(OPENAI_CHAT), FormatServer(OPENAI_CHAT)
    yield both
    for server in both:
        server.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("alias", [["one/m", "two/n"], {"one/m": 1e8, "two/n": 1e-8}], ids=["chain", "weights"])
def test_models_of_an_alias_are_its_fallbacks_instead_of_the_configured_ones(servers, alias, stream):
    one, two = servers
    one.answer, two.answer = ScriptedAnswer(text=""), ScriptedAnswer(text="from two")
    providers = {"one": upstream(one), "two": upstream(two)}
    config = {"providers": providers, "gateway": {"models": {"fast": alias}}, "fallback": {"one/": ["local/lexical"]}}
    with running_gateway(config={**config, "recovery": {"backoff_s": 0, "max_wait_s": 0}}) as gateway:
        answer = gateway.chat("fast", stream=stream)
        assert b"from two" in answer.raw
        if not stream:
            assert answer.headers["x-helmdeck-model"] == "two/n"


def test_misspelt_alias_is_answered_with_the_alias_and_not_with_a_provider():
    config = {
        "providers": {"workshop": {"kind": "vllm", "base_url": "http://127.0.0.1:9/v1"}},
        "gateway": {"models": {"fast": "local/lexical"}},
    }
    with running_gateway(config=config) as gateway:
        answer = gateway.chat("fastt")
        assert answer.status == 404 and b"did you mean 'fast'?" in answer.raw and b"workshop/fastt" not in answer.raw
        assert b"workshop/other" in gateway.chat("other").raw, "without a similar alias, the server is suggested"


def test_alias_that_a_key_may_not_use_is_not_suggested():
    targets = Targets(make_deck(), read_aliases({"fast": "local/lexical"})[0])
    with pytest.raises(InvalidRequest):
        targets.find("fastt")
    assert targets.find("fastt", may_use=lambda name: name != "fast").model == "fastt"
    assert targets.find("local/fast").model == "local/fast"
