"""The options of ``[catalog.mcp.NAME]``, and the secrets that they refer to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import attrs

from helmdeck_core import (
    EMPTY,
    ConfigError,
    Mistake,
    SecretRef,
    above_zero,
    read_options,
    secret_in,
    shown_url,
    speaks_of_secrets,
    url_secrets,
)

NAME = re.compile(r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*", re.ASCII)
"""Names of servers. They have no double underscore, which separates them from the names of tools."""

RESERVED_NAME = "helmdeck"
"""Tools of a server of this name would have the names of built-in tools, such as ``helmdeck__pipeline-run``."""

MAX_NAME_CHARS = 24

_REFERENCE = re.compile(r"(?P<scheme>[A-Za-z]+ )?(?P<kind>env|file):(?P<target>.+)", re.DOTALL)


@attrs.frozen(kw_only=True)
class ServerOptions:
    """The options of one server; it has a ``command`` or a ``url``.

    :ivar command: the program of a server that is started, and speaks on its standard input and output.
    :ivar args: its arguments.
    :ivar env: its environment variables, in addition to a few such as ``PATH``.
    :ivar cwd: its working directory, by default the folder of the configuration file.
    :ivar url: the URL of a server that speaks streamable HTTP.
    :ivar headers: sent with every request.
    :ivar protocol: ``legacy`` skips the question for the newer protocol, which some servers do not answer.
    :ivar start_timeout_s: seconds that the first use of the catalog waits; tools that arrive later are added then.
    :ivar call_timeout_s: seconds until a call of a tool is cancelled.
    :ivar max_tools: tools after the first ones are left out.
    :ivar max_result_bytes: size of an answer of the server on the wire.
    :ivar tools_cache_s: seconds that other processes use the list of tools without starting the server; 0 for never.
    """

    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(default=EMPTY, repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = attrs.field(default=EMPTY, repr=False)
    protocol: Literal["auto", "legacy"] = "auto"
    start_timeout_s: float = attrs.field(default=8.0, validator=above_zero)
    call_timeout_s: float = attrs.field(default=60.0, validator=above_zero)
    max_tools: int = attrs.field(default=256, validator=above_zero)
    max_result_bytes: int = attrs.field(default=4_000_000, validator=above_zero)
    tools_cache_s: float = attrs.field(default=86_400.0, validator=attrs.validators.ge(0))


def read_servers(options: Mapping[str, Any], folder: Path | None) -> dict[str, ServerOptions]:
    """Return the options of all servers by name, with paths resolved against the folder of the configuration file.

    :raises ConfigError: with every mistake.
    """
    servers: dict[str, ServerOptions] = {}
    mistakes: list[Mistake] = []
    if not options:
        allowed = "a table [catalog.mcp.NAME] for each server"
        mistakes.append(Mistake("catalog.mcp", "no server is configured", "", allowed))
    for name, table in options.items():
        where = f"catalog.mcp.{name}"
        if not NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS:
            allowed = f"at most {MAX_NAME_CHARS} letters, digits, and single - or _ between them"
            mistakes.append(Mistake(where, "not a name of a server", repr(name)[:80], allowed))
        if name.casefold() == RESERVED_NAME:
            mistakes.append(Mistake(where, "the name of the built-in tools", repr(name), "another name"))
        try:
            server = read_options(table, ServerOptions, "catalog", "mcp", name)
        except ConfigError as exc:
            mistakes += exc.mistakes
            continue
        mistakes += _mistakes(server, where)
        servers[name] = _anchored(server, folder)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    return servers


def _mistakes(server: ServerOptions, where: str) -> Iterator[Mistake]:
    if (server.command is None) is (server.url is None):
        yield Mistake(where, "takes one of command and url", "both" if server.command else "neither", "one of the two")
    if server.command is not None and not server.command.strip():
        yield Mistake(f"{where}.command", "empty", "''", "a program, such as npx")
    if server.url is not None:
        parts = urlsplit(server.url) if "://" in server.url else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            yield Mistake(
                f"{where}.url", "not a URL", shown_url(repr(server.url))[:80], "http:// or https:// and a host"
            )
        elif problem := secret_in(server.url):
            yield Mistake(f"{where}.url", problem, shown_url(server.url), "a URL without credentials; use headers")
    for option, is_for in (("args", "command"), ("env", "command"), ("cwd", "command"), ("headers", "url")):
        if getattr(server, option) and getattr(server, is_for) is None:
            yield Mistake(f"{where}.{option}", f"only for servers with {is_for}", "", is_for)


def _anchored(server: ServerOptions, folder: Path | None) -> ServerOptions:
    if folder is None:
        return server

    def anchored(value: str) -> str:
        found = _REFERENCE.fullmatch(value)
        if found is None or found["kind"] != "file":
            return value
        return f"{found['scheme'] or ''}file:{folder / Path(found['target'].strip()).expanduser()}"

    def all_of(values: Mapping[str, str]) -> dict[str, str]:
        return {name: anchored(value) for name, value in values.items()}

    cwd = None if server.command is None else str(folder / Path(server.cwd or ".").expanduser())
    command = server.command and re.sub(r"^~(?=/)", lambda _: str(Path.home()), server.command)
    return attrs.evolve(server, command=command, cwd=cwd, env=all_of(server.env), headers=all_of(server.headers))


# -- secrets -----------------------------------------------------------------------------------------------


class MissingSecretError(Exception):
    """A reference to a secret cannot be read."""


def resolved(values: Mapping[str, str]) -> dict[str, str]:
    """Return headers or variables with their secrets: ``env:NAME``, ``file:PATH``, or one after a word such as ``Bearer``.

    :raises MissingSecretError: one cannot be read.
    """
    found = {}
    for name, value in values.items():
        reference = _REFERENCE.fullmatch(value)
        if reference is None:
            found[name] = value
            continue
        secret = _read(reference)
        if secret is None:
            is_variable = reference["kind"] == "env"
            problem = "the environment variable is not set" if is_variable else "the file cannot be read or is empty"
            raise MissingSecretError(f"{name}: {reference['kind']}:{reference['target']}: {problem}")
        found[name] = f"{reference['scheme'] or ''}{secret}"
    return found


def missing_secrets(server: ServerOptions) -> Iterator[str]:
    """Yield a message for every table whose secrets cannot be read."""
    for table in ("env", "headers"):
        try:
            resolved(getattr(server, table))
        except MissingSecretError as exc:
            yield f"{table}.{exc}"


_NAMED_VALUE = re.compile(r"([\w.-]+)(?:=|: ?)((?:(?:Bearer|Basic|Token) )?[^\s&]{8,})", re.IGNORECASE)
"""As in ``--token=VALUE``, ``TOKEN=VALUE``, ``Authorization: Bearer VALUE`` and ``?key=VALUE``."""
_PLACEHOLDER = re.compile(r"\$\{(?:env:)?(\w+)(?::-?[^}]*)?\}")


def literal_references(server: ServerOptions) -> Iterator[str]:
    """Yield a message for every value that looks like a reference in the syntax of another program, or is where none is read."""
    for table in ("env", "headers"):
        for name, value in getattr(server, table).items():
            if found := _PLACEHOLDER.search(value):
                yield f"{table}.{name}: {found[0]} is not replaced; write env:{found[1]}"
    for number, value in enumerate(server.args):
        if found := _PLACEHOLDER.search(value) or re.match(r"env:(\w+)$", value):
            yield f"args[{number}]: {found[0]} is not replaced; pass the variable in env, if the program reads it there"


def secrets_of(server: ServerOptions) -> Iterable[str]:
    """Return every value that must not be shown: headers, variables, the secrets that they refer to, and secrets in arguments."""
    for value in (*server.env.values(), *server.headers.values()):
        reference = _REFERENCE.fullmatch(value)
        if reference is not None:
            yield _read(reference) or ""
        elif len(value) >= 8:
            yield value
    before = ""
    for each in server.args:
        yield from (value for name, value in _NAMED_VALUE.findall(each) if speaks_of_secrets(name))
        if before.startswith("-") and speaks_of_secrets(before) and not each.startswith("-") and len(each) >= 8:
            yield each
        yield from url_secrets(each)
        before = each if "=" not in each else ""


def _read(reference: re.Match[str]) -> str | None:
    return SecretRef(reference["kind"], reference["target"].strip()).read()
