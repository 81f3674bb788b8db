"""Planted secrets: none may appear in logs, traces, errors, metrics, history, databases, console output, reprs or pickles.

The rule is that of the redaction: no 8 consecutive letters and digits of a known secret, in any case and spacing, verbatim or in an encoding.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import pickle
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import attrs

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, held
from benchmarks.attacks.hostile import Exchange, HostileUpstream, chunk, completion, hostile_upstream
from benchmarks.attacks.settings import configuration
from benchmarks.attacks.victim import Victim, cli, create_key, gateway, load_modules
from helmdeck_core import Pack, log
from helmdeck_testing import EventRecorder, make_deck, plugin_with

SUITE = Suite("secrets")
LEAKS = "CWE-532; CWE-209; OWASP LLM02:2025; OWASP ASVS 5.0 V16.2"
WINDOW = 8

KEY = "sk-proj-Zq7/Xv2+Lm9Tr4Wb8Nc3/Kd6Fg1Hj5Yt0Uv"
TENANT = 'tn_4Gh8Jk2Mn6Pq0Rs5=Tv9Wx3Yz7"Bc1Df'
TOKEN = "gho_9aB3cD7eF1gH5iJ2kL6mN0oP4qR8sT"
PASSWORD = "pw:8Xk2/Qm5Zt9?Rv3Yh7#Ln1Bd4"
SECRETS = (KEY, TENANT, TOKEN, PASSWORD)


def letters(text: str) -> str:
    """Letters and digits in lower case."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _windows(secret: str) -> set[str]:
    data = secret.encode()
    forms = [secret, data.hex(), *(base64.b64encode(bytes(n) + data).decode()[4:-4] for n in range(3))]
    found = (letters(form) for form in forms)
    return {each[at : at + WINDOW] for each in found for at in range(len(each) - WINDOW + 1)}


WINDOWS = {secret: _windows(secret) for secret in SECRETS}


def leak_in(text: str, extra: Iterable[str] = ()) -> str:
    """The first part of a secret in a text; empty for none."""
    plain = letters(text)
    tables = {**WINDOWS, **{secret: _windows(secret) for secret in extra}}
    for secret, windows in tables.items():
        middle = {window[2:6] for window in windows}
        for at in range(len(plain) - WINDOW + 1):
            if plain[at + 2 : at + 6] in middle and plain[at : at + WINDOW] in windows:
                return f"{plain[at : at + WINDOW]!r} of {secret[:3]}…"
    return ""


# -- what a server answers ---------------------------------------------------------------------------------------------

FORMS: dict[str, Callable[[str], str]] = {
    "whole": lambda s: s,
    "its start": lambda s: s[:14],
    "its end": lambda s: s[-14:],
    "its middle": lambda s: s[6:24],
    "percent-encoded": lambda s: quote(s, safe=""),
    "percent-encoded twice": lambda s: quote(quote(s, safe=""), safe=""),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64 of a header": lambda s: base64.b64encode(f"user:{s}".encode()).decode(),
    "part of its base64": lambda s: base64.urlsafe_b64encode(s.encode()).decode()[5:30],
    "hexadecimal": lambda s: s.encode().hex(),
    "upper case": str.upper,
    "with spaces": lambda s: " ".join(s),
    "escaped in JSON": lambda s: json.dumps(s).replace("/", "\\/"),
    "over two lines": lambda s: f"{s[:20]}\n{s[20:]}",
}


def _answers(text: str) -> dict[str, Callable[[Exchange], Any]]:
    """Behaviours that repeat a text, by name."""
    line = " ".join(text.split())

    async def unauthorised(exchange: Exchange) -> None:
        await exchange.respond(
            json.dumps({"error": {"message": f"bad key {text}", "code": text}}).encode(), status="401 Unauthorized"
        )

    async def page(exchange: Exchange) -> None:
        await exchange.respond(f"<html>{text}</html>".encode(), "text/html", status="502 Bad Gateway")

    async def inside(exchange: Exchange) -> None:
        if exchange.streams:
            await exchange.start_events()
            await exchange.event(chunk("hello"))
            await exchange.event({"error": {"message": text, "type": text}})
            await exchange.close()
        else:
            await exchange.respond(json.dumps({"error": {"message": text}}).encode())

    async def malformed(exchange: Exchange) -> None:
        await exchange.respond(f'{{"choices": [ {text}'.encode())

    async def fields(exchange: Exchange) -> None:
        answer = completion("hello")
        answer |= {"model": text, "id": text, "system_fingerprint": text}
        answer["choices"][0]["finish_reason"] = text
        await exchange.respond(json.dumps(answer).encode())

    async def headers(exchange: Exchange) -> None:
        await exchange.respond(
            b"{}",
            headers=f"x-request-id: {line}\r\nretry-after: {line}\r\nset-cookie: {line}\r\n",
            status="429 Too Many Requests",
        )

    async def redirect(exchange: Exchange) -> None:
        await exchange.respond(
            b"", headers=f"location: http://{quote(line, safe='')}.example/?key={line}\r\n", status="302 Found"
        )

    async def protocol(exchange: Exchange) -> None:
        await exchange.write(f"HTTP/1.1 {line}\r\n\r\n".encode())
        await exchange.close()

    return {
        each.__name__: each for each in (unauthorised, page, inside, malformed, fields, headers, redirect, protocol)
    }


def plant(upstream: HostileUpstream) -> list[str]:
    """Let the provider repeat the key and the tenant in every form; return the names of the models."""
    for number, form in enumerate(FORMS.values()):
        for secret in (KEY, TENANT):
            for name, behave in _answers(form(secret)).items():
                upstream.behaviours[f"{name}-{number}-{secret[:2]}"] = behave
    return [name for name in upstream.behaviours if "-" in name]


PROVIDER = f"api_key = 'env:PLANTED_KEY'\nheaders = {{ x-tenant = '{TENANT}' }}"
ENVIRON = {"PLANTED_KEY": KEY, "PLANTED_TOKEN": TOKEN}


# -- the gateway -------------------------------------------------------------------------------------------------------


@attrs.frozen
class Planted:
    """A gateway whose provider repeats secrets."""

    victim: Victim
    upstream: HostileUpstream
    models: list[str]
    key: str


@contextlib.contextmanager
def planted(stage: Stage) -> Iterator[Planted]:
    """A gateway with keys, traces, metrics and the most detailed log."""
    with hostile_upstream() as upstream:
        models = plant(upstream)
        lines = 'requires_keys = true\nmetrics_key = "env:PLANTED_TOKEN"'
        text = configuration(
            upstream, provider=PROVIDER, gateway_lines=lines, more='[events]\nsinks = ["prometheus", "traces"]'
        )
        folder = stage.new_folder()
        with gateway(folder, text, "--log-level", "TRACE", environ=ENVIRON) as victim:
            yield Planted(victim, upstream, models, create_key(folder, "ann"))


def _sent(at: Planted) -> bool:
    return any(KEY.lower().encode() in each.head.lower() for each in at.upstream.exchanges)


@SUITE.each(
    {f"a provider that repeats the key, gateway, {name}": s for name, s in (("whole", False), ("streamed", True))},
    reference=LEAKS,
    deadline_s=120,
)
def _gateway(stage: Stage, streams: bool) -> Verdict:
    at = stage.use(planted)
    leaks = []
    for model in at.models:
        reply = at.victim.chat(f"up/{model}", key=at.key, stream=streams)
        if found := leak_in(reply.text + json.dumps(dict(reply.headers)), [at.key]):
            leaks.append(f"{model}: {found}")
    if not _sent(at):
        return broken("the key was never sent")
    return (
        broken(f"{len(leaks)} of {len(at.models)} responses: {leaks[0]}")
        if leaks
        else held(f"none of {len(at.models)} responses has a part of it")
    )


@SUITE.case("logs, traces, metrics and databases of the gateway", reference=LEAKS, deadline_s=120)
def _gateway_files(stage: Stage) -> Verdict:
    at = stage.use(planted)
    for model in at.models[::3]:
        at.victim.chat(f"up/{model}", key=at.key, stream=bool(len(model) % 2))
    at.victim.send("/v1/chat/completions", b'{"model": "' + KEY.encode(), key=at.key)
    at.victim.send(
        f"/v1/chat/completions?api_key={at.key}&token={quote(KEY)}", b"{}", key=TOKEN, headers={"x-tenant": TENANT}
    )
    texts = {"log": at.victim.log_text()}
    for path in ("/metrics", "/readyz", "/healthz", "/openapi.json", "/v1/models"):
        texts[path] = at.victim.send(path, method="GET", key=TOKEN if path == "/metrics" else at.key).text
    for file in at.victim.folder.rglob("*"):
        if file.is_file() and file.name not in ("stderr.txt", "helmdeck.toml"):
            texts[file.name] = file.read_bytes().decode("latin-1")
    for words in (
        ("keys", "calls", "ann", "--json"),
        ("keys", "show", "ann"),
        ("explain", "--call", "last"),
        ("config", "show"),
        ("doctor", "--offline"),
    ):
        done = cli(at.victim.folder, *words, environ=ENVIRON)
        texts[" ".join(words)] = (done.stdout + done.stderr).decode("utf-8", "replace")
    leaks = [f"{name}: {found}" for name, text in texts.items() if (found := leak_in(text, [at.key.split("-", 2)[2]]))]
    return (
        broken("; ".join(leaks)[:300])
        if leaks
        else held(f"nothing in {len(texts)} places, {sum(map(len, texts.values())):,} characters")
    )


@SUITE.case("a client's key in the wrong place", reference=LEAKS)
def _client_key(stage: Stage) -> Verdict:
    at = stage.use(planted)
    body = {
        "model": f"up/{at.key}",
        "user": at.key,
        "metadata": {"k": at.key},
        "messages": [{"role": "user", "content": at.key}],
    }
    at.victim.send(body=body, key=at.key)
    at.victim.send(f"/v1/models/{at.key}", method="GET", key=at.key)
    at.victim.send(f"/{at.key}", method="GET")
    at.victim.send(body=body, key=at.key[:-2])
    texts = {"log": at.victim.log_text()}
    for file in at.victim.folder.rglob("*.db*"):
        texts[file.name] = file.read_bytes().decode("latin-1")
    secret = at.key.split("-", 2)[2]  # its id is public
    leaks = [f"{name}: {found}" for name, text in texts.items() if (found := leak_in(text, [secret]))]
    return broken("; ".join(leaks)[:300]) if leaks else held("not in log, traces and databases")


# -- the library and the command line ----------------------------------------------------------------------------------


def everything_of(exc: BaseException) -> str:
    """All texts of an exception."""
    parts = [str(exc), repr(exc), "".join(traceback.format_exception(exc)), *getattr(exc, "__notes__", ())]
    shows: tuple[Callable[[Any], Any], ...] = (vars, pickle.dumps, attrs.asdict, lambda each: each.to_dict())
    for show in shows:
        with contextlib.suppress(Exception):
            parts.append(repr(show(exc)))
    return "\n".join(parts)


def _config(upstream: HostileUpstream, folder: Path) -> dict[str, Any]:
    provider = {
        "kind": "openai-compatible",
        "base_url": upstream.base_url,
        "api_key": "env:PLANTED_KEY",
        "headers": {"x-tenant": TENANT},
    }
    sinks = {"sinks": ["traces", "prometheus"], "options": {"traces": {"file": str(folder / "traces.db")}}}
    return {
        "model": "up/ok",
        "providers": {"up": provider},
        "events": sinks,
        "recovery": {"max_attempts": 1, "cool_down_after": 0},
    }


@SUITE.each(
    {f"a provider that repeats the key, library, {name}": s for name, s in (("whole", False), ("streamed", True))},
    reference=LEAKS,
    deadline_s=120,
)
def _library(stage: Stage, streams: bool) -> Verdict:
    import os

    from loguru import logger

    from helmdeck_core import ChatRequest, Message, Role, TextPart

    os.environ |= ENVIRON
    folder, recorder, lines = stage.new_folder(), EventRecorder(), io.StringIO()
    os.environ["HELMDECK_DATA_DIR"] = str(folder)
    log.enable("TRACE")
    number = logger.add(lines, level="TRACE", diagnose=True, backtrace=True)
    texts: dict[str, str] = {}
    with hostile_upstream() as upstream:
        models = plant(upstream)
        with make_deck(recorder, config=_config(upstream, folder)) as deck:
            for model in models:
                request = ChatRequest(model=f"up/{model}", messages=(Message(Role.USER, (TextPart("hi"),)),))
                try:
                    found = repr(list(deck.stream(request)) if streams else deck.complete(request))
                except Exception as exc:
                    found = everything_of(exc)
                    logger.opt(exception=exc).error("failed")
                texts[model] = found
            texts["events"] = repr(recorder.events)
            texts["metrics"] = deck.sink("prometheus").render().decode()
            texts["traces"] = repr([deck.call_trace(each.call_id) for each in deck.traces(1_000)])
            texts["reprs"] = "\n".join(
                map(repr, (deck, deck.runtime, deck.runtime.config, deck.runtime.config.providers))
            )
            for show in (pickle.dumps, attrs.asdict, json.dumps):
                with contextlib.suppress(Exception):
                    texts[f"config by {show.__name__}"] = repr(show(deck.runtime.config))
        is_sent = any(KEY.lower().encode() in each.head.lower() for each in upstream.exchanges)
    logger.remove(number)
    log.disable()
    texts["logs"] = lines.getvalue()
    texts |= {path.name: path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()}
    leaks = [f"{name}: {found}" for name, text in texts.items() if (found := leak_in(text))]
    if not is_sent or len(texts["logs"]) < 1_000:
        return broken(f"the key was sent: {is_sent}; {len(texts['logs'])} characters of log")
    return (
        broken(f"{len(leaks)} places: {'; '.join(leaks)[:250]}")
        if leaks
        else held(f"nothing in {len(texts)} places, {sum(map(len, texts.values())):,} characters")
    )


@SUITE.case("a provider that repeats the key, command line", reference=LEAKS, deadline_s=120)
def _command_line(stage: Stage) -> Verdict:
    load_modules()
    folder, texts = stage.new_folder(), {}
    with hostile_upstream() as upstream:
        models = plant(upstream)
        (folder / "helmdeck.toml").write_text(
            configuration(upstream, provider=PROVIDER, more='[events]\nsinks = ["traces"]'), encoding="utf-8"
        )
        for model in models[:: stage.sized(3, 12)]:
            for words in (("ask", "hi", "--json", "--log-level", "TRACE"), ("plan", "draft a post", "--traceback")):
                done = cli(folder, *words, "--model", f"up/{model}", environ=ENVIRON, timeout_s=20)
                texts[f"{words[0]} {model}"] = (done.stdout + done.stderr).decode("utf-8", "replace")
    for line in ("config show", "config check", "explain --call last", "doctor --offline", "budgets up/ok"):
        done = cli(folder, *line.split(), environ=ENVIRON)
        texts[line] = (done.stdout + done.stderr).decode("utf-8", "replace")
    texts |= {
        path.name: path.read_bytes().decode("latin-1")
        for path in folder.rglob("*")
        if path.is_file() and path.name != "helmdeck.toml"
    }
    leaks = [f"{name}: {found}" for name, text in texts.items() if (found := leak_in(text))]
    return (
        broken(f"{len(leaks)} places: {'; '.join(leaks)[:250]}")
        if leaks
        else held(f"nothing in {len(texts)} outputs and files")
    )


CONFIGS: dict[str, str] = {
    "a password in base_url": f'[providers.up]\nkind = "openai-compatible"\nbase_url = "http://user:{quote(PASSWORD, safe="")}@127.0.0.1:9/v1"\n',
    "a key in the query of base_url": f'[providers.up]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1?key={quote(KEY, safe="")}"\n',
    "a literal key": f'[providers.up]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "{KEY}"\n',
    "a literal key in a list": f'[providers.up]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\napi_keys = ["{KEY}", "x"]\n',
    "a literal header": f'[providers.up]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\nheaders = {{ Authorization = "Bearer {KEY}" }}\n',
    "a password in the store": f'[gateway]\nstore = "postgresql://user:{quote(PASSWORD, safe="")}@127.0.0.1:9/db"\n',
    "a malformed store": f'[gateway]\nstore = "postgresql://user:{PASSWORD}@127.0.0.1:x/db"\n',
    "a key in a field of the wrong type": f'[providers.up]\nkind = "openai-compatible"\ntimeout_s = "{KEY}"\n',
    "a key in the wrong table": f'[recovery]\napi_key = "{KEY}"\n',
    "a key on a line that is not TOML": f'[providers.up]\napi_key = "{KEY}\n',
    "a token of an MCP server": f'[catalog.mcp.evil]\ncommand = "false"\nenv = {{ TOKEN = "{TOKEN}" }}\n',
    "a header of an MCP server": f'[catalog.mcp.evil]\nurl = "http://127.0.0.1:9/"\nheaders = {{ Authorization = "Bearer {TOKEN}" }}\n',
    "a token in the arguments of an MCP server": f'[catalog.mcp.evil]\ncommand = "false"\nargs = ["--token={TOKEN}"]\n',
}  # fmt: skip


@SUITE.each({f"configuration with {name}": text for name, text in CONFIGS.items()}, reference=LEAKS, deadline_s=60)
def _configuration(stage: Stage, text: str) -> Verdict:
    load_modules()
    folder = stage.new_folder()
    (folder / "helmdeck.toml").write_text(text.replace(KEY, KEY.replace('"', "")), encoding="utf-8")
    leaks, codes = [], {}
    for words in (("config", "check"), ("config", "show"), ("config", "show", "--json"), ("doctor",), ("ask", "hi", "--model", "up/ok", "--traceback"),
                  ("plan", "draft a post", "--log-level", "TRACE"), ("keys", "list"), ("plugins", "list")):  # fmt: skip
        done = cli(folder, *words, timeout_s=40)
        codes[words[0]] = done.returncode
        if found := leak_in((done.stdout + done.stderr).decode("utf-8", "replace")):
            leaks.append(f"{' '.join(words)}: {found}")
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "helmdeck.toml" and (found := leak_in(path.read_bytes().decode("latin-1"))):
            leaks.append(f"{path.name}: {found}")
    return (
        broken("; ".join(leaks)[:300])
        if leaks
        else held(f"not shown by eight commands, exit codes {sorted({*codes.values()})}")
    )


# -- MCP and runs ------------------------------------------------------------------------------------------------------


@SUITE.each(
    {f"an MCP server that repeats its token: {name}": form for name, form in FORMS.items()},
    reference=LEAKS,
    deadline_s=40,
)
def _mcp(stage: Stage, form: Callable[[str], str]) -> Verdict:
    import os

    from helmdeck_core import PackError

    os.environ |= ENVIRON
    folder, recorder = stage.new_folder(), EventRecorder()
    os.environ["HELMDECK_DATA_DIR"] = str(folder)
    script = folder / "server.py"
    script.write_text(MCP_SERVER.replace("FORM", json.dumps(form(TOKEN))), encoding="utf-8")
    table = {
        "command": sys.executable,
        "args": ["-S", "-E", str(script)],
        "env": {"TOKEN": "env:PLANTED_TOKEN"},
        "start_timeout_s": 4,
        "call_timeout_s": 4,
    }
    texts = {}
    config = {
        "model": "local/lexical",
        "catalog": {"mcp": {"evil": table}},
        "events": {"sinks": ["traces"], "options": {"traces": {"file": str(folder / "t.db")}}},
    }
    with make_deck(recorder, config=config) as deck:
        texts["catalog"] = repr([dict(entry.data) for entry in deck.catalog.entries])
        for name in ("error", "fails", "crash"):
            try:
                texts[name] = repr(deck.run(f"evil__{name}", {}))
            except PackError as exc:
                texts[name] = everything_of(exc) + json.dumps(exc.to_dict())
        texts["events"] = repr(recorder.events)
        texts["reprs"] = repr(deck.runtime.config)
    texts |= {
        path.name: path.read_bytes().decode("latin-1")
        for path in folder.rglob("*")
        if path.is_file() and path != script
    }
    leaks = [f"{name}: {found}" for name, text in texts.items() if (found := leak_in(text))]
    return broken("; ".join(leaks)[:300]) if leaks else held(f"nothing in {len(texts)} places")


MCP_SERVER = """
import json, os, sys
TEXT = FORM
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send(id=number, result={"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "e", "version": TEXT}})
    elif method == "tools/list":
        names = ("error", "fails", "crash")
        send(id=number, result={"tools": [{"name": n, "description": "Runs.", "inputSchema": {"type": "object"}} for n in names]})
    elif method == "tools/call":
        name = message["params"]["name"]
        if name == "error":
            send(id=number, error={"code": -32000, "message": TEXT, "data": TEXT})
        elif name == "fails":
            send(id=number, result={"content": [{"type": "text", "text": TEXT}], "isError": True})
        else:
            sys.stderr.write(TEXT)
            sys.stderr.flush()
            os._exit(1)
    elif number is not None:
        send(id=number, error={"code": -32601, "message": "no"})
"""


@SUITE.each({f"a pack that raises with a secret: {name}": form for name, form in FORMS.items()}, reference=LEAKS)
def _pack(stage: Stage, form: Callable[[str], str]) -> Verdict:
    import os

    from helmdeck_core import PackError

    os.environ |= ENVIRON
    folder, recorder = stage.new_folder(), EventRecorder()
    os.environ["HELMDECK_DATA_DIR"] = str(folder)
    text = form(KEY)

    async def run(context: Any, _: Mapping[str, Any]) -> Mapping[str, Any]:
        context.progress(f"calling with {text}")
        raise RuntimeError(f"rejected {text}")

    pack = Pack(name="evil.pack", version="1", description="Raises.", run=run)
    reported: list[str] = []
    with (
        hostile_upstream() as upstream,
        make_deck(recorder, plugin_with(helmdeck_packs=[pack]), config=_config(upstream, folder)) as deck,
    ):
        try:
            deck.run("evil.pack", {}, progress=lambda each: reported.append(str(each)))
            found = ""
        except PackError as exc:
            found = everything_of(exc) + json.dumps(exc.to_dict())
        texts = {"error": found, "events": repr(recorder.events), "progress": repr(reported)}
    texts |= {path.name: path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()}
    leaks = [f"{name}: {found}" for name, text in texts.items() if (found := leak_in(text))]
    return broken("; ".join(leaks)[:300]) if leaks else held(f"nothing in {len(texts)} places")
