"""Errors of a provider are raised without its stack frames, which may hold keys, and with secrets redacted."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from helmdeck_core import (
    AuthFailed,
    CallFailed,
    ChatDelta,
    ChatRequest,
    ChatResponse,
    InvalidRequest,
    Message,
    PluginError,
    ProviderSpec,
    Role,
    StopReason,
    TextPart,
    hookimpl,
)
from helmdeck_testing import StubProvider, make_deck

KEY = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"
TENANT = "Uu3Vv4Ww5Xx6Yy7Zz8Aa9Bb0"
REQUEST = ChatRequest(model="acme/any", messages=(Message(Role.USER, (TextPart("hello"),)),))


class Acme(StubProvider):
    """A provider whose frames and exceptions are full of its key."""

    def __init__(self, act, settings=None):
        super().__init__()
        self.act = act
        self.settings = settings

    async def complete(self, request):
        headers = {"authorization": f"Bearer {self.settings.api_key()}"}
        return await self.act(headers)

    async def stream(self, request):
        headers = {"authorization": f"Bearer {self.settings.api_key()}"}
        yield ChatDelta(reasoning_content="Hm.")
        yield await self.act(headers)

    @hookimpl
    def helmdeck_providers(self):
        return [ProviderSpec(name="acme", api_key="env:ACME_KEY", open=lambda settings, _: Acme(self.act, settings))]


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("ACME_KEY", KEY)


def deck_of(plugin, **recovery):
    config = {"providers": {"acme": {"headers": {"x-tenant": TENANT}}}, "recovery": {"max_attempts": 1, **recovery}}
    return make_deck(plugin, config=config)


def raised(act, ask, **recovery):
    """What leaves the deck when the provider does this."""

    async def run():
        async with deck_of(Acme(act), **recovery) as deck:
            with pytest.raises(BaseException) as caught:
                await ask(deck)
            return caught.value

    return asyncio.run(run())


async def whole(deck):
    return await deck.acomplete(REQUEST)


async def streamed(deck):
    return [item async for item in deck.astream(REQUEST)]


async def planned(deck):
    return await deck.aplan("draft a blog post", model="acme/any")


def everything_of(exc, seen=()):
    """All that a log may write of an exception, causes that are not printed included."""
    if exc is None or exc in seen:
        return ""
    shown = traceback.TracebackException.from_exception(exc, capture_locals=True)
    texts = ["".join(shown.format()), repr(exc), repr(exc.args), *getattr(exc, "__notes__", ())]
    return "\n".join([*texts, *(everything_of(each, (*seen, exc)) for each in (exc.__cause__, exc.__context__))])


async def refuse(headers):
    try:
        raise ConnectionError("refused", headers)
    except ConnectionError as exc:
        raise AuthFailed(f"acme says no to {KEY}", detail=f"tenant {TENANT}", raw_stop_reason=KEY) from exc


async def stumble(headers):
    raise KeyError(headers["authorization"])


async def wait(headers):
    await asyncio.sleep(60)


@pytest.mark.parametrize("ask", [whole, streamed, planned])
def test_provider_failure_has_no_cause_no_frames_and_no_secret(ask):
    failure = raised(refuse, ask)
    assert (type(failure), failure.detail, failure.raw_stop_reason) == (AuthFailed, "tenant [redacted]", "[redacted]")
    assert failure.__cause__ is failure.__context__ is None
    shown = everything_of(failure)
    assert KEY not in shown and TENANT not in shown and "acme says no to [redacted]" in shown


@pytest.mark.parametrize("ask", [whole, streamed])
def test_unexpected_provider_error_names_the_location_without_values(ask):
    fault = raised(stumble, ask)
    assert type(fault) is PluginError and "provider 'acme' raised KeyError: 'Bearer [redacted]'" in str(fault)
    (note,) = fault.__notes__
    assert (
        "test_provider_error_redaction.py" in note
        and "in stumble" in note
        and 'raise KeyError(headers["authorization"])' in note
    )
    assert KEY not in everything_of(fault)


@pytest.mark.parametrize("ask", [whole, streamed])
def test_cancelled_or_timed_out_call_shows_no_variable_of_the_provider(virtual_time, ask):
    async def cancelled(deck):
        async with asyncio.timeout(1):
            await ask(deck)

    for exc in (raised(wait, cancelled), raised(wait, ask, deadline_s=1.0)):
        assert isinstance(exc, (TimeoutError, CallFailed))
        assert KEY not in everything_of(exc)


def test_exception_shared_by_several_calls_is_raised_in_each():
    shared = AuthFailed("mine")

    async def refuse(headers):
        await asyncio.sleep(0)
        raise shared

    async def both(deck):
        found = await asyncio.gather(whole(deck), whole(deck), return_exceptions=True)
        raise ExceptionGroup("both", [Exception(type(each).__name__) for each in found])

    assert [str(each) for each in raised(refuse, both).exceptions] == ["AuthFailed"] * 2


def test_error_while_opening_or_closing_a_provider_is_redacted():
    class Opening(Acme):
        @hookimpl
        def helmdeck_providers(self):
            def fail(settings, context):
                url = f"https://{settings.api_key()}@host"
                raise ValueError(f"no address: {url}")

            return [ProviderSpec(name="acme", api_key="env:ACME_KEY", open=fail)]

    class Closing(Acme):
        async def aclose(self):
            raise ValueError(f"cannot say goodbye to {self.settings.api_key()}")

        @hookimpl
        def helmdeck_providers(self):
            return [ProviderSpec(name="acme", api_key="env:ACME_KEY", open=lambda given, _: Closing(self.act, given))]

    async def run(plugin):
        async with deck_of(plugin) as deck:
            await whole(deck)

    async def answer(headers):
        return ChatResponse(text="hello", stop_reason=StopReason.END_TURN)

    for plugin, message in ((Opening(None), "cannot be opened: ValueError"), (Closing(answer), "cannot be closed:")):
        with pytest.raises(PluginError, match=message) as caught:
            asyncio.run(run(plugin))
        assert KEY not in everything_of(caught.value)


@pytest.mark.parametrize("before", [0, 185])
def test_response_excerpt_contains_no_key_and_no_prefix_of_one(before):
    async def answer(headers):
        text = "#" * before + f" {headers['authorization']} is not a key, {TENANT}"
        return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop")

    failure = raised(answer, planned)
    assert failure.excerpt.startswith(f"{'#' * before} Bearer")
    shown = everything_of(failure)
    assert KEY[:8] not in shown and TENANT not in shown


def test_error_without_a_secret_is_unchanged():
    async def refuse(headers):
        raise InvalidRequest("the request has no end", detail="give one")

    assert raised(refuse, whole).detail == "give one"
