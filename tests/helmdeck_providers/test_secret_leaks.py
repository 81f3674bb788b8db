"""Secrets in keys, headers and proxy URLs are never shown, whatever a server returns and however a call fails."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
import html
import io
import json
import logging
import pickle
import traceback
import warnings
from collections import Counter
from collections.abc import Mapping
from urllib.parse import quote

import attrs
import msgspec
import pytest
from loguru import logger
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import helmdeck_provider_tape
from helmdeck_core import CallFailed, ChatResponse, log
from helmdeck_core.redaction import Secrets
from helmdeck_testing import OPENAI_CHAT, EventRecorder, ScriptedAnswer, failing_server, make_deck
from helmdeck_testing.byte_server import turns
from tests.adapters_support import ADAPTERS, KEY, KEYS, PLACES, PLUGINS, Adapter, ask, request
from tests.cli_support import Cli, leave_the_machine
from tests.helmdeck_providers.http_support import Server, Step, chunked, http, saying, until
from tests.helmdeck_providers.secret_parts_support import plain, signatures, windows

pytestmark = pytest.mark.usefixtures("transport")

TENANT = "Uu3Vv4/Ww5Xx6+Yy7Zz8=Aa9Bb0Cc1\\Dd2Ee"
PASSWORD = "Pp5Qq6/Rr7Ss8+Tt9Uu0Vv1Ww2"
BASIC = base64.b64encode(f"hugo:{PASSWORD}".encode()).decode()
HEADERS = {"x-tenant": TENANT, "X-Pass": f"Basic {BASIC}", "cookie": f"session={TENANT}"}
PLANTED = Secrets([KEY, TENANT, PASSWORD, BASIC])
SIGNED = Secrets([*list(KEYS.values())[1:], *list(PLANTED)[1:]])
"""For those that sign and send no key."""

PARTS = {text[start : start + 12] for text in (KEY, *SIGNED) for start in range(0, len(text) - 11, 3)} | {
    *SIGNED.forms,
    *PLANTED.forms,
}
"""Every form of every secret, and parts of all; none of them may be shown."""


DAMAGED_PARTS = {part for text in (KEY, *SIGNED) for part in windows(text)}
"""The same for secrets that are truncated, in upper case or spaced."""


def echo_of(secrets):
    """What a careless server says: all that it got, in all forms."""
    plain = " | ".join([f"Bearer {secret}" for secret in secrets])
    forms = (plain, quote(plain, safe=""), json.dumps(plain), html.escape(plain), repr(plain.encode()))
    damaged = (form for secret in secrets for form in (secret[:-2], secret[4:], secret.upper(), " ".join(secret[:-2])))
    return " || ".join([*damaged, *forms, *(base64.b64encode(secret.encode()).decode() for secret in secrets)])


# -- what a server can do -------------------------------------------------------------------------------------


def answers(server_format, secrets, streams):
    """How a server can repeat a secret, or fail while one is around."""
    echo = echo_of(secrets)
    named = {"x_ratelimit_owner": echo, "set_cookie": echo, "x_request_id": echo, "content_type": "application/json"}
    response_text = server_format.whole(ScriptedAnswer(text="hello"))
    error = json.dumps(server_format.error(401, echo)).encode()
    yield "refused", [http(error, 401, **named)]
    yield "its own error", [http(error, 500, retry_after=echo, **named)]
    yield (
        "codes",
        [http(json.dumps({"error": {"message": "no", "type": echo, "code": echo, "status": echo}}).encode(), 400)],
    )
    yield "an error in a 200", [http(json.dumps({"error": {"message": echo}}).encode(), **named)]
    yield "half an error", [http(error[:-5], 400, **named)]
    yield "a page", [http(f"<html><title>{html.escape(echo)}</title>".encode(), 502, content_type=f"text/html; {echo}")]
    yield "a page in a 200", [http(f"<p>{echo}".encode(), content_type=f"text/{echo}")]
    yield "text", [http(echo.encode(), 503)]
    yield "a text of JSON", [http(json.dumps(echo).encode(), **named)]
    yield "a list of JSON", [http(json.dumps([echo]).encode(), **named)]
    yield (
        "its fields",
        [http(json.dumps({**response_text, "id": echo, "model": echo, "modelVersion": echo}).encode(), **named)],
    )
    yield "a redirect", [http(b"", 302, location=f"https://{quote(echo)}@host/{quote(echo)}?key={quote(echo)}")]
    yield "a redirect to a path", [http(b"", 307, location=f"/{echo}")]
    yield "a reason", [http(b"{}", 429, echo)]
    yield "a status line", [f"HTTP/1.1 {echo}\r\n\r\n".encode("latin-1")]
    yield "a line that is no header", [f"HTTP/1.1 200 OK\r\n{echo}\r\n\r\n".encode("latin-1")]
    yield "a length", [http(b"", content_length=echo)]
    yield "a way to transfer", [http(b"", content_length=None, transfer_encoding=echo)]
    yield "a chunk", [http(b"", content_length=None, transfer_encoding="chunked") + echo.encode()]
    yield "what is compressed", [http(echo.encode(), content_encoding="gzip")]
    yield "nothing", []
    yield "a reset", [Step.RESET]
    yield "half a head", [b"HTTP/1.1 200 OK\r\nset-cookie: " + echo.encode()]
    yield "half a body", [http(echo.encode(), content_length=10**6, **named), Step.RESET]
    yield "silence", [Step.STALL]
    yield "a caller who goes away", [Step.STALL]
    yield "a caller who goes away in the body", [http(b"{", content_length=99, **named), Step.STALL]
    if streams:
        kind = {**named, "content_type": server_format.content_type}
        begun = b"".join(server_format.events(ScriptedAnswer(text=f"it is {echo}", stop=None)))
        failed = server_format.error_event(echo)
        yield "an error in a stream", [chunked(begun + failed, 7, **kind)]
        yield "a truncated stream", [chunked(begun, 11, ends=False, **kind), Step.RESET]
        yield (
            "a stream with garbage",
            [http(begun + b"data: {" + echo.encode() + b"\n\n" + echo.encode() + b"\n", **kind)],
        )
        yield "a caller who goes away in the stream", [chunked(begun, ends=False, **kind), Step.STALL]


OF_THE_TRANSPORT = {
    "a redirect to a path", "a reason", "a status line", "a line that is no header", "a length", "a way to transfer",
    "a chunk", "what is compressed", "nothing", "a reset", "half a head", "half a body", "silence",
}  # fmt: skip
"""What no adapter gets to read: looked at with one adapter of text and one of binary frames, and with several keys."""

GONE = ("a caller who goes away", "a caller who goes away in the body", "a caller who goes away in the stream")


# -- what can be seen -----------------------------------------------------------------------------------------


def everything_of(exc, seen=()):
    """All that may be written of an exception: variables, arguments and causes that are not printed included."""
    if exc is None or exc in seen:
        return
    for frame in traceback.StackSummary.extract(traceback.walk_tb(exc.__traceback__), capture_locals=True):
        yield from (frame.locals or {}).values()
    yield from (str(exc), repr(exc), repr(exc.args), repr(vars(exc)), *getattr(exc, "__notes__", ()))
    if isinstance(exc, CallFailed):
        yield from (json.dumps(exc.to_dict(), ensure_ascii=False), repr(attrs.asdict(exc)), str(pickle.dumps(exc)))
    for each in (exc.__cause__, exc.__context__, *getattr(exc, "exceptions", ())):
        yield from everything_of(each, (*seen, exc))


CLEAN = set()
"""Hashes of texts without a secret: most variables of a call are those of the call before."""


def shown_in(texts):
    """The secrets that can be seen, each with what is around it."""
    texts = [text for text in texts if hash(text) not in CLEAN]
    if not (found := found_in("\n".join(texts))):
        CLEAN.update(map(hash, texts))
    return found


def found_in(text):
    found = []
    if any(signature in text for signature in SIGNATURES):
        found = [f"{part}: {text[max(0, text.find(part) - 200) :][:400]!r}" for part in PARTS if part in text]
    letters = plain(text)
    if found or not any(signature in letters for signature in DAMAGED_SIGNATURES):
        return found
    return [f"{part} in any case and spacing" for part in DAMAGED_PARTS if part in letters]


@pytest.fixture
def written(monkeypatch):
    """All lines of all logs at their lowest level, with the variables of exceptions, and all warnings."""
    lines = io.StringIO()
    log.enable("TRACE")
    number = logger.add(lines, level="TRACE", format="{message} {extra} {exception}", diagnose=True, backtrace=True)
    root, handler = logging.getLogger(), logging.StreamHandler(lines)
    root.addHandler(handler)
    monkeypatch.setattr(root, "level", logging.DEBUG)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        yield lines
        lines.write("\n".join(str(each.message) for each in warned))
    root.removeHandler(handler)
    logger.remove(number)
    log.disable()


@pytest.fixture
def spans(monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter.get_finished_spans
    provider.shutdown()


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**KEYS, "SECOND": SECOND_KEY}.items():
        monkeypatch.setenv(name, value)


# -- the claim ------------------------------------------------------------------------------------------------


SECOND_KEY, SECOND_TENANT = 'xT4yU8vW/2Za6Bc0+Dq3"Er7Fs=9Gt', "Mm1Nn2Oo3/Kk4Ll5+Jj6"
"""Of a second key and server of the provider, which answers as the first one does."""
PARTS |= {text[start : start + 12] for text in (SECOND_KEY, SECOND_TENANT) for start in range(0, len(text) - 11, 3)}
DAMAGED_PARTS |= {part for text in (SECOND_KEY, SECOND_TENANT) for part in windows(text)}
SIGNATURES, DAMAGED_SIGNATURES = signatures(PARTS), signatures(DAMAGED_PARTS)


def test_every_form_and_part_of_a_secret_is_recognised():
    assert all(shown_in([f"text {part} text"]) for part in (*PARTS, *DAMAGED_PARTS))
    assert all(shown_in([" ".join(part.upper())]) for part in DAMAGED_PARTS)
    assert not shown_in(["text without a secret"])


ROUTES = Adapter(
    "openai", OPENAI_CHAT, {"routes": [{}, {"api_key": "env:SECOND", "headers": {"x-pass": SECOND_TENANT}}]}
)


@pytest.mark.parametrize("name", [*ADAPTERS, *PLACES, "routes"])
def test_no_secret_is_shown_for_any_server_behaviour(transport, name, written, spans, tmp_path):
    check_server_behaviours(transport, name, written, spans, tmp_path)


def check_server_behaviours(transport, name, written, spans, tmp_path):
    """Let a server of one adapter repeat secrets in every way, and look for them in everything that is shown."""
    adapter, ways = {**ADAPTERS, **PLACES, "routes": ROUTES}[name], (False,) if name in PLACES else (False, True)
    is_first = (transport, name) == ("httpx", "chat")  # what does not depend on the adapter is looked at once
    secrets = SIGNED if adapter.kind == "bedrock" and "api_key" not in adapter.settings else PLANTED
    secrets = Secrets([*secrets, SECOND_KEY, SECOND_TENANT]) if name == "routes" else secrets
    table = [(streams, *case) for streams in ways for case in answers(adapter.server_format, secrets, streams)]
    if name in PLACES:
        table = table[::2]  # they differ in where the key goes, and in nothing that is read
    elif name not in ("chat", "bedrock", "routes"):
        table = [case for case in table if case[1] not in OF_THE_TRANSPORT]
    listener, found, turn = EventRecorder(), [], asyncio.Semaphore(16)

    def look(label, texts):
        found.extend((label, hit) for hit in shown_in(texts)[:1])

    async def call(deck, label, model, streams, server):
        try:
            async with turn:
                asked = len(server.heads)
                task = asyncio.create_task(ask(deck, model, streams))
                if label[1] in GONE:
                    await until(lambda: len(server.heads) > asked or task.done())
                    await turns()
                    task.cancel()
                try:
                    response = await task
                except asyncio.CancelledError as exc:
                    look(label, everything_of(exc))
                    return
        except Exception as exc:
            look(label, everything_of(exc))
            if is_first:
                logger.opt(exception=exc).error("failed")
        else:
            assert isinstance(response, ChatResponse)
            look(label, [repr(attrs.evolve(response, text=""))])

    async def run():
        asyncio.get_running_loop().set_debug(name == "azure")
        async with contextlib.AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(Server(saying(*steps))) for _, _, steps in table]
            config = config_of(adapter, servers, tmp_path)
            for number, (_, label, _) in enumerate(table):
                config["providers"][f"p{number}"]["timeout_s"] = 0.1 if label == "silence" else 30.0
            plugins = (listener, helmdeck_provider_tape, *PLUGINS)
            deck = await stack.enter_async_context(make_deck(*plugins, config=config))
            calls = [
                call(deck, (wrapper, label, streams), f"{wrapper}p{number}/any", streams, servers[number])
                for number, (streams, label, _) in enumerate(table)
                for wrapper in (["", "tape/"] if is_first and not streams else [""])
            ]
            await asyncio.gather(*calls)
            look("events", map(repr, listener.events))
            look("metrics", [deck.sink("prometheus").render().decode()])
            look("stories", [repr([deck.call_trace(run.call_id) for run in deck.traces(1000)])])
            # A client whose limit is short may time out before it sends anything.
            asked = [server for (_, label, _), server in zip(table, servers, strict=True) if label != "silence"]
            heads = [b"".join(server.heads) for server in asked]
            assert secrets is SIGNED or all(KEY.encode() in head for head in heads), "it was sent"
            assert name != "routes" or any(SECOND_KEY.encode() in head for head in heads), "it was sent"

    asyncio.run(run())
    look("spans", [repr((span.name, dict(span.attributes), span.events, span.status)) for span in spans()])
    look("files", [path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()])
    look("logs", [written.getvalue()])
    assert list(tmp_path.iterdir()) and listener.events and spans() and written.getvalue()
    assert not found, "\n".join(f"{label}: {hit}" for label, hit in found[:20])


def config_of(adapter, servers, folder):
    given = {"kind": adapter.kind, "headers": HEADERS, **adapter.settings}
    if adapter is ROUTES:
        given |= {"api_key": "env:PLANTED", "routing": "in-order"}
    providers = {f"p{n}": {**given, "base_url": f"http://127.0.0.1:{each.port}"} for n, each in enumerate(servers)}
    providers["tape"] = {"options": {"file": str(folder / "tape.jsonl"), "mode": "record"}}
    sinks = {"sinks": ["traces", "prometheus", "otel"], "options": {"traces": {"file": str(folder / "traces.db")}}}
    recovery = {"max_attempts": 1, "cool_down_after": 0}
    return {"providers": providers, "recovery": recovery, "events": sinks}


# -- proxies --------------------------------------------------------------------------------------------------


def repeated(connection):
    """What a proxy says that repeats what it got, in plain words, too."""
    head = connection._server.heads[-1].decode()
    return f"{head.splitlines()!r} hugo:{PASSWORD} {quote(PASSWORD, safe='')}".replace("\r\n", " ")


def refusing(connection):
    response_text = repeated(connection)
    saying(
        http(response_text.encode(), 407, response_text, proxy_authenticate=response_text, set_cookie=response_text)
    )(connection)


def babbling(connection):
    saying(f"{repeated(connection)}\r\n\r\n".encode())(connection)


@pytest.mark.parametrize(("variable", "streams"), [("HTTP_PROXY", True), ("HTTPS_PROXY", False)])
@pytest.mark.parametrize("answer", [refusing, babbling, saying(Step.RESET), saying(http(b"")), saying(b"HTTP/1.1 2")])
def test_proxy_password_is_not_shown(variable, answer, streams, written, monkeypatch):
    scheme = variable.partition("_")[0].lower()
    address = f"{scheme}://models.acme.example/v1"
    config = {"providers": {"openai": {"base_url": address, "api_key": "env:PLANTED"}}, "recovery": {"max_attempts": 1}}

    async def run():
        async with Server(answer) as server:
            monkeypatch.setenv(variable, f"http://hugo:{quote(PASSWORD, safe='')}@127.0.0.1:{server.port}")
            async with make_deck(config=config) as deck:
                with pytest.raises(CallFailed) as caught:
                    await ask(deck, "openai/any", streams)
                connection = deck._engine.pool.open_provider("openai")._connection
                transport = connection._transport
                # What a library warns of when something was not closed shows its keys of connections.
                held = [repr(vars(each)) for each in (connection, transport)]
                if (connector := getattr(transport, "_connector", None)) is not None:
                    held.append(repr(vars(connector)))
            assert BASIC.encode() in server.heads[0], "it was sent"
            return caught.value, held

    failure, held = asyncio.run(run())
    assert not shown_in([*everything_of(failure), *held])
    assert not shown_in([written.getvalue()])


BAD_PROXIES = {
    "slashes": f"http://hugo:{PASSWORD}@host:1",
    "a hash": f"http://hugo:x#{PASSWORD}@host:1",
    "another scheme": f"foo://hugo:{quote(PASSWORD, safe='')}@host",
    "no port": f"http://hugo:x@host:{PASSWORD}",
    "what needs more": f"socks5://hugo:{quote(PASSWORD, safe='')}@host:1",
    "half a host": f"http://hugo:{quote(PASSWORD, safe='')}@[::1",
}


@pytest.mark.parametrize("name", BAD_PROXIES)
def test_unusable_proxy_url_is_not_shown(name, written, monkeypatch):
    monkeypatch.setenv("ALL_PROXY", BAD_PROXIES[name])
    config = {"providers": {"openai": {"base_url": "https://models.acme.example/v1", "api_key": "env:PLANTED"}}}
    with (
        make_deck(config=config) as deck,
        pytest.raises(CallFailed, match="the proxy that the environment names") as caught,
    ):
        deck.complete(request("openai/any"))
    assert caught.value.sub_cause == "misconfigured"
    assert not shown_in([*everything_of(caught.value), written.getvalue()])


# -- what a deck holds, and the command line --------------------------------------------------------------------


def reachable(root):
    """Every public object that can be reached from one, a few of each kind."""
    found, waiting, kinds = [], [root], Counter()
    while waiting:
        each = waiting.pop()
        if kinds[type(each)] > 20 or any(each is known for known in found[-50:]):
            continue
        kinds[type(each)] += 1
        found.append(each)
        if isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, (list, tuple, set, frozenset)):
            waiting += each
        elif type(each).__module__.startswith("helmdeck"):
            for name in dir(each):
                if not name.startswith("_") and name not in ("abc_data",):
                    with contextlib.suppress(Exception):
                        waiting.append(getattr(each, name))
    return found


def test_no_object_of_a_deck_shows_a_secret(monkeypatch):
    async def run():
        async with Server(
            saying(http(json.dumps(ADAPTERS["chat"].server_format.whole(ScriptedAnswer(text="hi"))).encode()))
        ) as server:
            given = {"base_url": f"http://127.0.0.1:{server.port}", "headers": HEADERS, "api_key": "env:PLANTED"}
            async with make_deck(config={"providers": {"openai": given}}) as deck:
                await ask(deck, "openai/any", False)
                provider = deck._engine.pool.open_provider("openai")
                return [
                    *reachable(deck),
                    deck._engine.pool,
                    provider,
                    provider._connection,
                    provider._connection._transport,
                ]

    objects, shown = asyncio.run(run()), []
    for each in objects:
        for show in (repr, str, vars, pickle.dumps, attrs.asdict, msgspec.json.encode, copy.copy, json.dumps):
            try:
                shown.append(repr(show(each)))
            except Exception as exc:
                shown.append(repr(exc))
    assert len({type(each) for each in objects}) > 40
    assert not shown_in(shown)


def test_the_command_line_shows_no_secret(capsys, monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    cli = Cli(capsys)
    with failing_server(
        ADAPTERS["chat"].server_format, "unavailable", echo=f"{KEY} {quote(KEY, safe='')} {TENANT}"
    ) as server:
        (tmp_path / "helmdeck.toml").write_text(
            f'[providers.openai]\nbase_url = "{server.base_url}"\napi_key = "env:PLANTED"\n'
            f"[providers.openai.headers]\nx-tenant = {json.dumps(TENANT)}\n[recovery]\nmax_attempts = 1\n"
            f'[events]\nsinks = ["traces"]\n[events.options.traces]\nfile = "{tmp_path / "traces.db"}"\n'
        )
        commands = ["plan hello --model openai/any --log-level TRACE", "route hello --model openai/any --json"]
        commands += [
            "explain --call last",
            "explain hello --model openai/any",
            "budgets openai/any --json",
            "config show",
        ]
        shown = [cli(*command.split()) for command in commands]
    log.disable()
    assert KEY in repr(server.requests) and all(done.out + done.err for done in shown)
    assert not shown_in([text for done in shown for text in (done.out, done.err)])
    assert not shown_in([path.read_bytes().decode("latin-1") for path in tmp_path.iterdir() if "db" in path.suffix])
