"""Several API keys and servers of one provider: how they share requests, and what happens when one fails."""

import asyncio
import random

import pytest

from benchmarks.faults.upstream import ANSWER, Upstream
from helmdeck_core import (
    AuthFailed,
    CallFailed,
    ChatRequest,
    CooldownStarted,
    FailureClass,
    InvalidRequest,
    Message,
    ModelInfo,
    ProviderSpec,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    Role,
    TextPart,
)
from helmdeck_telemetry.log import line_of
from helmdeck_testing import EventRecorder, make_deck, plugin_with
from tests.helmdeck_providers.routing_support import (
    KEYS,
    REFERENCES,
    A,
    Acme,
    AcmeRoute,
    B,
    C,
    acme_deck,
    asking,
    chooser_of,
    turns,
)


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


@pytest.fixture
def acme():
    return Acme()


# -- sharing --------------------------------------------------------------------------------------------------


def test_requests_are_shared_by_weight(acme):
    random.seed(7)
    routes = [{"api_key": "env:KEY_A", "weight": 3}, {"api_key": "env:KEY_B"}]
    with acme_deck(acme, routes=routes) as deck:
        for _ in range(400):
            deck.complete(asking())
    assert acme.calls.count(A) == pytest.approx(300, abs=35) and set(acme.calls) == {A, B}


def test_keys_without_weights_share_requests_equally(acme):
    random.seed(7)
    with acme_deck(acme, api_keys=REFERENCES) as deck:
        for _ in range(300):
            deck.complete(asking())
    assert all(acme.calls.count(key) == pytest.approx(100, abs=30) for key in KEYS.values())


def test_first_route_takes_all_requests_in_order(acme):
    with acme_deck(acme, api_keys=REFERENCES, routing="in-order") as deck:
        for _ in range(5):
            deck.complete(asking())
    assert acme.calls == [A] * 5


def test_least_busy_route_takes_each_of_200_concurrent_requests(acme):
    routes = [{"api_key": "env:KEY_A", "weight": 2}, {"api_key": "env:KEY_B"}, {"api_key": "env:KEY_C"}]

    async def run():
        acme.gate = asyncio.Event()
        async with acme_deck(acme, routes=routes, routing="least-busy") as deck:
            calls = [asyncio.create_task(deck.acomplete(asking())) for _ in range(200)]
            await turns()
            assert acme.busy == {A: 100, B: 50, C: 50}
            acme.gate.set()
            await asyncio.gather(*calls)
            assert chooser_of(deck).in_flight == [0, 0, 0]

    asyncio.run(run())


def test_turns_of_one_conversation_stay_on_a_sticky_route_and_conversations_are_shared_by_weight(acme):
    routes = [{"api_key": "env:KEY_A", "weight": 3}, {"api_key": "env:KEY_B"}]
    with acme_deck(acme, routes=routes, routing="sticky") as deck:
        for number in range(200):
            first = asking(text=f"question {number}")
            answer = Message(Role.ASSISTANT, (TextPart("fine"),))
            later = ChatRequest(model=first.model, messages=(*first.messages, answer, *asking(text="more").messages))
            deck.complete(first)
            deck.complete(later)
    pairs = list(zip(acme.calls[::2], acme.calls[1::2], strict=True))
    assert all(one == other for one, other in pairs)
    assert pairs.count((A, A)) == pytest.approx(150, abs=25)


# -- failures -------------------------------------------------------------------------------------------------

REFUSED = {
    "429": RateLimited("no"),
    "429 with Retry-After": RateLimited("no", retry_after_s=30.0),
    "402": QuotaExhausted("no"),
    "401": AuthFailed("no"),
    "403 for the model": AuthFailed("no", sub_cause="permission"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_next_key_answers_when_one_is_refused_and_that_key_is_left_alone(acme, name, streams):
    acme.failures[A] = REFUSED[name]
    recorder = EventRecorder()
    with acme_deck(acme, recorder, api_keys=REFERENCES[:2], routing="in-order") as deck:
        for _ in range(3):
            response = list(deck.stream(asking()))[-1] if streams else deck.complete(asking())
            assert response.text == "fine" and len(response.attempts) == 1, "one attempt of the same model"
    assert acme.calls == [A, B, B, B]
    (event,) = recorder.of(CooldownStarted)
    assert (event.provider, event.route, event.cause) == ("acme", "key 1 of 2", REFUSED[name].failure_class)


def test_missing_key_is_passed_over(acme, monkeypatch):
    monkeypatch.delenv("KEY_A")
    recorder = EventRecorder()
    with acme_deck(acme, recorder, api_keys=REFERENCES[:2], routing="in-order") as deck:
        assert deck.complete(asking()).text == "fine"
    (event,) = recorder.of(CooldownStarted)
    assert (event.route, event.cause) == ("key 1 of 2", FailureClass.AUTH_FAILED)


def test_unreachable_server_is_passed_over_with_all_its_keys(acme):
    acme.failures |= {A: ProviderUnavailable("no"), B: ProviderUnavailable("no")}
    routes = [{"base_url": f"http://{host}/v1", "api_key": key} for host, key in zip("112", REFERENCES, strict=True)]
    recorder = EventRecorder()
    with acme_deck(acme, recorder, routes=routes, routing="in-order") as deck:
        assert [deck.complete(asking()).text for _ in range(2)] == ["fine"] * 2
    assert acme.calls == [A, C, C]
    assert [event.route for event in recorder.of(CooldownStarted)] == ["route 1 of 3"]


def test_other_failures_are_not_repeated_with_another_key(acme):
    acme.failures[A] = InvalidRequest("no")
    with acme_deck(acme, api_keys=REFERENCES, routing="in-order") as deck, pytest.raises(InvalidRequest):
        deck.complete(asking())
    assert acme.calls == [A]


def test_all_keys_limited_is_a_rate_limit_with_the_shortest_wait_and_no_further_request(acme, virtual_time):
    acme.failures |= {A: RateLimited("no", retry_after_s=30.0), B: RateLimited("no", retry_after_s=10.0)}
    with acme_deck(acme, api_keys=REFERENCES[:2], recovery={"max_wait_s": 0.0}) as deck:
        for _ in range(2):
            with pytest.raises(RateLimited) as caught:
                deck.complete(asking())
            assert caught.value.retry_after_s == pytest.approx(10.0)
        assert sorted(acme.calls) == sorted([A, B]), "the second call sends none"
        virtual_time.advance(10.0)
        acme.failures.clear()
        assert deck.complete(asking()).text == "fine"
    assert acme.calls[2:] == [B]


def test_all_keys_limited_is_waited_for_by_the_recovery(acme, virtual_time):
    acme.failures |= {A: RateLimited("no", retry_after_s=30.0), B: RateLimited("no", retry_after_s=10.0)}

    async def run():
        async with acme_deck(acme, api_keys=REFERENCES[:2], recovery={"max_attempts": 3}) as deck:
            call = asyncio.create_task(deck.acomplete(asking()))
            await asyncio.sleep(5.0)
            acme.failures.clear()
            return await call

    response = asyncio.run(run())
    assert response.text == "fine" and len(response.attempts) == 2 and acme.calls[2:] == [B]
    assert virtual_time.passed_s == pytest.approx(10.0, abs=0.1)


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        (RateLimited("no"), 5.0),
        (RateLimited("no", retry_after_s=40.0), 40.0),
        (RateLimited("no", retry_after_s=90_000.0), 300.0),
        (QuotaExhausted("no"), 60.0),
        (AuthFailed("no"), 60.0),
        (ProviderUnavailable("no"), 8.0),
    ],
    ids=repr,
)
def test_key_is_used_again_after_its_cooldown(acme, virtual_time, failure, seconds):
    acme.failures["http://one"] = failure
    routes = [{"base_url": "http://one"}, {"base_url": "http://two"}]
    with acme_deck(acme, routes=routes, routing="in-order") as deck:
        deck.complete(asking())
        acme.failures.clear()
        virtual_time.advance(seconds - 0.1)
        deck.complete(asking())
        assert acme.calls == ["http://one", "http://two", "http://two"]
        virtual_time.advance(0.1)
        deck.complete(asking())
    assert acme.calls[-1] == "http://one"


def test_without_another_route_the_first_to_return_is_tried_though_it_failed(acme, virtual_time):
    acme.failures |= {A: QuotaExhausted("no"), B: AuthFailed("no")}
    with acme_deck(acme, api_keys=REFERENCES[:2], routing="in-order") as deck:
        with pytest.raises(QuotaExhausted, match="none of the 2 keys"):
            deck.complete(asking())
        acme.failures.clear()
        assert [deck.complete(asking()).text for _ in range(2)] == ["fine"] * 2
    assert acme.calls[:3] == [A, B, A]


def test_key_limited_for_one_model_serves_the_others(acme):
    acme.failures[A] = RateLimited("no")
    with acme_deck(acme, api_keys=REFERENCES[:2], routing="in-order") as deck:
        deck.complete(asking())
        acme.failures.clear()
        deck.complete(asking("acme/other"))
        deck.complete(asking())
    assert acme.calls == [A, B, A, B]


def test_key_that_may_not_list_models_still_calls_them(acme):
    class Listing(AcmeRoute):
        async def models(self):
            if self._settings.api_key() == A:
                raise AuthFailed("no", sub_cause="permission")
            return (ModelInfo(id="m"),)

    spec = ProviderSpec(name="acme", open=lambda settings, _: Listing(acme, settings))
    config = {"providers": {"acme": {"api_keys": REFERENCES[:2], "routing": "in-order"}}}
    with make_deck(plugin_with(helmdeck_providers=[spec]), config=config) as deck:
        assert deck.models("acme") == (ModelInfo(id="m"),)
        deck.complete(asking())
    assert acme.calls == [A]


def test_all_keys_without_quota_is_an_exhausted_quota_with_the_shortest_wait(acme):
    acme.failures |= {A: QuotaExhausted("no", retry_after_s=90.0), B: QuotaExhausted("no", retry_after_s=40.0)}
    expected = pytest.raises(QuotaExhausted, match="all 2 keys have no quota left")
    with acme_deck(acme, api_keys=REFERENCES[:2]) as deck, expected as caught:
        deck.complete(asking())
    assert caught.value.retry_after_s == 40.0 and len(acme.calls) == 2


def test_fallback_model_answers_when_all_keys_are_limited(acme):
    acme.failures |= dict.fromkeys(KEYS.values(), RateLimited("no"))
    config = {
        "providers": {"acme": {"api_keys": REFERENCES}, "backup": {"kind": "acme", "base_url": "http://backup"}},
        "fallback": {"acme/": ["backup/m"]},
    }
    with make_deck(acme.plugin(), config=config) as deck:
        response = deck.complete(asking())
    assert [attempt.model for attempt in response.attempts] == ["acme/m", "backup/m"]
    assert len(acme.calls) == 4


def test_stream_that_has_begun_is_not_repeated_by_the_routes(acme):
    acme.failures[A], acme.begins = RateLimited("no"), True
    with acme_deck(acme, api_keys=REFERENCES[:2], routing="in-order", recovery={"max_attempts": 2}) as deck:
        *chunks, response = deck.stream(asking())
    assert acme.calls == [A, B] and len(response.attempts) == 2
    assert "".join(chunk.text for chunk in chunks) == response.text


# -- over HTTP ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["429", "429, Retry-After 60", "402", "401"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
def test_next_key_answers_over_http(virtual_time_with_sockets, fault, streams):
    async def run():
        async with Upstream(key_faults={A: fault}) as server:
            provider = {"kind": "openai", "base_url": server.base_url, "api_keys": REFERENCES, "routing": "in-order"}
            async with make_deck(config={"providers": {"own": provider}}) as deck:
                for _ in range(2):
                    request = asking("own/m")
                    if streams:
                        response = [item async for item in deck.astream(request)][-1]
                    else:
                        response = await deck.acomplete(request)
                    assert response.text == ANSWER and response.is_complete
            assert server.keys == [A, B, B]

    asyncio.run(run())


def test_next_server_answers_with_its_own_key_and_headers_when_one_is_down(virtual_time_with_sockets):
    async def run():
        async with Upstream(["refused"]) as one, Upstream() as two:
            routes = [
                {"base_url": one.base_url, "api_key": "env:KEY_A"},
                {"base_url": two.base_url, "api_key": "env:KEY_B", "headers": {"x-region": "two"}},
            ]
            provider = {"kind": "openai", "routes": routes, "routing": "in-order", "headers": {"x-all": "yes"}}
            async with make_deck(config={"providers": {"own": provider}}) as deck:
                assert (await deck.acomplete(asking("own/m"))).text == ANSWER
            assert (one.keys, two.keys) == ([], [B])
            assert b"x-region: two" in two.heads[0].lower() and b"x-all: yes" in two.heads[0].lower()

    asyncio.run(run())


def test_all_keys_refused_is_an_authentication_failure_that_names_none(virtual_time_with_sockets):
    async def run():
        async with Upstream(key_faults=dict.fromkeys(KEYS.values(), "401")) as server:
            provider = {"kind": "openai", "base_url": server.base_url, "api_keys": REFERENCES}
            async with make_deck(config={"providers": {"own": provider}}) as deck:
                with pytest.raises(AuthFailed, match="all 3 keys were rejected") as caught:
                    await deck.acomplete(asking("own/m"))
        text = repr(caught.value) + str(caught.value.to_dict())
        assert not any(secret in text for secret in (*KEYS, *KEYS.values()))
        assert isinstance(caught.value, CallFailed) and len(server.keys) == 3

    asyncio.run(run())


def test_rejected_key_is_a_warning_with_its_position_and_a_limited_one_is_not():
    for failure, level in ((AuthFailed("no"), "WARNING"), (RateLimited("no"), "INFO")):
        event = CooldownStarted(provider="acme", route="key 2 of 3", seconds=5.0, cause=failure.failure_class)
        assert line_of(event)[0] == level
