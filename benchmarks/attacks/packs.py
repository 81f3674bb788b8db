"""Packs: files outside of their folder, and pages of hosts that are not public."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import attrs

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from helmdeck_core import Pack, PackError
from helmdeck_testing import make_deck, plugin_with

SUITE = Suite("packs")
PATHS = "CWE-22; CWE-59; OWASP ASVS 5.0 V5"
SSRF = "CWE-918; OWASP A10:2021; OWASP LLM06:2025"


# -- files -------------------------------------------------------------------------------------------------------------

Prepare = Callable[[Path, Path], None]


def _link_folder(root: Path, outside: Path) -> None:
    (root / "linked").symlink_to(outside)


def _link_file(root: Path, outside: Path) -> None:
    (root / "file.txt").symlink_to(outside / "secret.txt")


def _dangling(root: Path, outside: Path) -> None:
    (root / "file.txt").symlink_to(outside / "new.txt")


def _hard_link(root: Path, outside: Path) -> None:
    (root / "file.txt").hardlink_to(outside / "secret.txt")


def _pipe(root: Path, _: Path) -> None:
    os.mkfifo(root / "file.txt")


def _device(root: Path, _: Path) -> None:
    (root / "file.txt").symlink_to("/dev/full")


def _nothing(_: Path, __: Path) -> None:
    pass


WRITES: dict[str, tuple[str, Prepare]] = {
    "..": ("../outside/secret.txt", _nothing),
    ".. in the middle": ("a/../../outside/secret.txt", _nothing),
    "an absolute path": ("/tmp/../{outside}/secret.txt", _nothing),
    "a tilde": ("~/secret.txt", _nothing),
    "backslashes": ("..\\outside\\secret.txt", _nothing),
    "a NUL": ("a\0/../secret.txt", _nothing),
    "a link to a folder": ("linked/secret.txt", _link_folder),
    "a link to a file": ("file.txt", _link_file),
    "a dangling link": ("file.txt", _dangling),
    "a hard link to a file outside": ("file.txt", _hard_link),
    "a named pipe": ("file.txt", _pipe),
    "a link to a device": ("file.txt", _device),
    "a name of 5,000 characters": ("n" * 5_000, _nothing),
    "1,000 folders": ("a/" * 1_000 + "b", _nothing),
    "a lone surrogate": ("a\ud800", _nothing),
}


@SUITE.each({f"fs.write and fs.read with {name}": row for name, row in WRITES.items()}, reference=PATHS)
def _write(stage: Stage, row: tuple[str, Prepare]) -> Verdict:
    path, prepare = row
    folder = stage.new_folder()
    root, outside = folder / "root", folder / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("secret", encoding="utf-8")
    prepare(root, outside)
    seen = []
    with make_deck(config={"packs": {"options": {"fs": {"root": str(root)}}}}) as deck:
        for name, more in (("fs.write", {"text": "owned", "overwrite": True}), ("fs.read", {})):
            arguments = {"path": path.format(outside=outside) if "{" in path else path, **more}
            try:
                seen.append(str(deck.run(name, arguments))[:60])
            except PackError as exc:
                seen.append(exc.code.value)
    is_intact = (outside / "secret.txt").read_text(encoding="utf-8") == "secret" and len([*outside.iterdir()]) == 1
    if not is_intact or (any("'secret'" in each for each in seen) and prepare is not _hard_link):
        return broken(f"write: {seen[0]}, read: {seen[1]}; the file outside is intact: {is_intact}")
    return held(f"write: {seen[0]}, read: {seen[1]}; the file outside is intact")


NAMES: dict[str, Any] = {
    "..": "../evil.txt",
    "an absolute path": "/tmp/evil.txt",
    "a folder": "a/b.txt",
    "a device of Windows": "CON.txt",
    "a hidden file": ".bashrc",
    "a NUL": "a\0.txt",
    "line breaks": "a\nb.txt",
    "1,000 characters": "n" * 1_000,
    "an option": "-rf",
    "no characters": "",
}


def _artifacts(folder: Path, write: Callable[[Any], Any]) -> str:
    async def run(context: Any, _: Any) -> dict[str, Any]:
        write(context)
        return {}

    pack = Pack(name="evil.write", version="1", description="Writes.", run=run)
    with make_deck(plugin_with(helmdeck_packs=[pack]), config={"packs": {"artifacts": str(folder)}}) as deck:
        try:
            deck.run("evil.write", {})
        except PackError as exc:
            return exc.code.value
    return "written"


@SUITE.each({f"an artifact whose name is {name}": value for name, value in NAMES.items()}, reference=PATHS)
def _name(stage: Stage, name: str) -> Verdict:
    folder = stage.new_folder()
    found = _artifacts(folder / "out", lambda context: context.artifacts.write(name, "x"))
    left = [path.name for path in folder.rglob("*") if path.is_file()]
    return broken(f"{found}: {left}") if left or found == "written" or Path("/tmp/evil.txt").exists() else held(found)


OUTPUTS: dict[str, Callable[[Any, Path], Any]] = {
    "a link in place of the file": lambda context, _: context.artifacts.write("link.txt", "owned"),
    "a link as the content": lambda context, folder: context.artifacts.write("copy.txt", folder / "out" / "link.txt"),
    "a device as the content": lambda context, _: context.artifacts.write("copy.txt", Path("/dev/zero")),
    "a named pipe as the content": lambda context, folder: context.artifacts.write("copy.txt", folder / "pipe"),
    "1 GB": lambda context, _: [context.artifacts.write(f"{n}.bin", bytes(50_000_000)) for n in range(20)],
    "1,000 artifacts": lambda context, _: [context.artifacts.write("a.txt", "x") for _ in range(1_000)],
    "case twins": lambda context, _: (context.artifacts.write("a.txt", "1"), context.artifacts.write("A.txt", "2")),
}


@SUITE.each({f"artifacts with {name}": value for name, value in OUTPUTS.items()}, reference=PATHS, deadline_s=40)
def _output(stage: Stage, write: Callable[[Any, Path], Any]) -> Verdict:
    folder = stage.new_folder()
    (folder / "out").mkdir()
    (folder / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "out" / "link.txt").symlink_to(folder / "secret.txt")
    os.mkfifo(folder / "pipe")
    found = _artifacts(folder / "out", lambda context: write(context, folder))
    files = [path for path in (folder / "out").iterdir() if not path.is_symlink()]
    size = sum(path.stat().st_size for path in files)
    is_copied = any(path.read_bytes()[:6] == b"secret" for path in files if path.stat().st_size < 100)
    text = f"{found}; {len(files)} files of {size / 1e6:.0f} MB"
    if (
        (folder / "secret.txt").read_text(encoding="utf-8") != "secret"
        or is_copied
        or size > 100_000_000
        or len(files) > 100
    ):
        return broken(text)
    return held(text)


# -- pages -------------------------------------------------------------------------------------------------------------


@attrs.define
class Private:
    """A server on loopback that counts requests; paths select its answers."""

    port: int
    requests: list[str]
    pages: dict[str, Callable[[Any], None]]


@contextlib.contextmanager
def private(_: Stage) -> Iterator[Private]:
    """Run the server."""
    requests: list[str] = []
    pages: dict[str, Callable[[Any], None]] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            with contextlib.suppress(OSError):
                pages.get(self.path, _page)(self)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Private(server.server_address[1], requests, pages)
    finally:
        server.shutdown()
        server.server_close()


def _page(handler: Any, body: bytes = b"internal", kind: str = "text/plain", **headers: str) -> None:
    handler.send_response(200)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


HOSTS = (
    "127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "127.000.000.001", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
    "017700000001", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[::7f00:1]", "0.0.0.0", "[::]", "0", "169.254.169.254",
    "[::ffff:169.254.169.254]", "168.63.129.16", "192.0.0.192", "100.100.100.200", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]",
    "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "[64:ff9b::169.254.169.254]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "10.0.0.1", "192.168.0.1",
    "172.16.0.1", "user@127.0.0.1", "example.com@127.0.0.1", "example.com:80@127.0.0.1", "127.0.0.1%00.example.com", "①②⑦.⓪.⓪.①",
    "127。0。0。1", "127.0.0.1\\@example.com", "127.0.0.1#@example.com",
)  # fmt: skip


def fetched(name: str, arguments: dict[str, Any], *, plugins: tuple[Any, ...] = (), **options: Any) -> str:
    """Run a pack that fetches; return the text or the code of the failure."""
    with make_deck(*plugins, config={"packs": {"options": {"http": options}}}) as deck:
        try:
            return str(deck.run(name, arguments))
        except PackError as exc:
            return exc.code.value


@SUITE.each({f"http.fetch of {host}": host for host in HOSTS}, reference=SSRF, deadline_s=20)
def _fetch(stage: Stage, host: str) -> Verdict:
    at = stage.use(private)
    before = len(at.requests)
    found = fetched(
        "http.fetch",
        {"url": f"http://{host}:{at.port}/"} if "#" not in host else {"url": f"http://{host}"},
        timeout_s=3.0,
    )
    reached = len(at.requests) - before
    return (
        broken(f"{found[:80]}, {reached} requests") if reached or "internal" in found else held(f"{found}; no request")
    )


@SUITE.each({f"http.fetch of {url.partition(':')[0]}:": url for url in (
    "file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "ftp://127.0.0.1/", "data:text/plain,x", "unix:///var/run/docker.sock",
    "jar:http://127.0.0.1!/", "dict://127.0.0.1:11211/")}, reference=SSRF)  # fmt: skip
def _scheme(_: Stage, url: str) -> Verdict:
    found = fetched("http.fetch", {"url": url})
    return held(found) if found == "invalid_input" else broken(found[:100])


@SUITE.each({f"content.ground of {host}": host for host in HOSTS if "@" not in host}, reference=SSRF, deadline_s=20)
def _ground(stage: Stage, host: str) -> Verdict:
    at = stage.use(private)
    before = len(at.requests)
    import sys

    sys.path.insert(0, str(Path(__file__).parents[2] / "contrib_packs" / "ground" / "src"))
    from helmdeck_pack_ground import fetch

    url = f"http://{host}:{at.port}/"
    try:
        found = asyncio.run(_first(fetch, url))
    except Exception as exc:
        found = f"{type(exc).__name__}"
    reached = len(at.requests) - before
    return (
        broken(f"{found[:80]}, {reached} requests") if reached or "internal" in found else held(f"{found}; no request")
    )


async def _first(module: Any, url: str) -> str:
    async with asyncio.timeout(10):
        return str(await module.fetch(url))


def resolving(*answers: str) -> Any:
    """Let the name server give one address after the other."""
    left = list(answers)

    async def getaddrinfo(_: Any, __: str, port: int, **___: Any) -> Any:
        address = left.pop(0) if len(left) > 1 else left[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port, *((0, 0) if family == socket.AF_INET6 else ())))]

    return mock.patch.object(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)


@SUITE.each({"a name that leads to loopback": ("127.0.0.1",), "a name that changes its IP address after the check": ("93.184.216.34", "127.0.0.1"),
             "a name that leads to a mapped address": ("::ffff:127.0.0.1",), "a name that leads to link-local": ("169.254.169.254",)},
            reference="CWE-367; CWE-350; DNS rebinding")  # fmt: skip
def _rebinding(stage: Stage, answers: tuple[str, ...]) -> Verdict:
    at = stage.use(private)
    before = len(at.requests)
    with resolving(*answers):
        found = fetched("http.fetch", {"url": f"http://rebinding.example:{at.port}/"}, timeout_s=2.0)
    reached = len(at.requests) - before
    return broken(f"{found[:80]}, {reached} requests") if reached else held(f"{found}; no request")


@SUITE.each({f"a redirect to {target}": target for target in (
    "http://127.0.0.2:{port}/", "http://[::1]:{port}/", "http://169.254.169.254/latest/meta-data/", "http://[::ffff:127.0.0.2]:{port}/", "//127.0.0.2:{port}/",
    "http://2130706434:{port}/", "file:///etc/passwd", "http://user@127.0.0.2:{port}/")}, reference=SSRF)  # fmt: skip
def _redirect(stage: Stage, target: str) -> Verdict:
    at = stage.use(private)

    def redirect(handler: Any) -> None:
        handler.send_response(302)
        handler.send_header("location", target.format(port=at.port))
        handler.send_header("content-length", "0")
        handler.end_headers()

    at.pages["/redirect"] = redirect
    before = len(at.requests)
    found = fetched("http.fetch", {"url": f"http://127.0.0.1:{at.port}/redirect"}, allow=["127.0.0.1"], timeout_s=3.0)
    reached = len(at.requests) - before - 1
    return (
        broken(f"{found[:80]}, {reached} requests")
        if reached or "internal" in found
        else held(f"{found}; not followed")
    )


def _endless(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/plain")
    handler.end_headers()
    while True:
        handler.wfile.write(b"x" * 65_536)


def _slowly(handler: Any) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "text/plain")
    handler.send_header("content-length", "100000")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.5)


def _bomb(handler: Any) -> None:
    import gzip

    _page(handler, gzip.compress(b" " * 300_000_000, 1), "text/html", content_encoding="gzip")


def html(text: str, size: int = 2_000_000) -> Callable[[Any], None]:
    """A page that repeats a text."""
    return lambda handler: _page(handler, (text * (size // len(text) + 1))[:size].encode(), "text/html")


BODIES: dict[str, Callable[[Any], None]] = {
    "of unlimited length": _endless,
    "of two bytes per second": _slowly,
    "of 300 MB in gzip": _bomb,
    "of 2 MB of unclosed tags": html('<a"'),
    "of 2 MB of unclosed comments": html("<!--"),
    "of 2 MB of nested elements": html("<div>"),
    "of 2 MB of entities": html("&amp;&#x41;"),
    "of 2 MB of attributes": html("<p " + 'a="b" ' * 1_000),
    "of 2 MB of declarations": html("<![CDATA["),
    "of 2 MB of scripts": html("<script>x"),
    "of 2 MB of processing instructions": html("<?"),
}


@SUITE.each(
    {f"a page {name}": page for name, page in BODIES.items()}, reference="CWE-407; CWE-409; CWE-400", deadline_s=30
)
def _body(stage: Stage, page: Callable[[Any], None]) -> Verdict:
    at = stage.use(private)
    at.pages["/body"] = page
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.monotonic())
            await asyncio.sleep(0.02)

    async def run() -> str:
        config = {"packs": {"options": {"http": {"allow": ["127.0.0.1"], "timeout_s": 3.0}}}}
        async with make_deck(config=config) as deck:
            ticking = asyncio.create_task(tick())
            try:
                return (
                    str(len(str(await deck.arun("http.fetch", {"url": f"http://127.0.0.1:{at.port}/body"}))))
                    + " characters"
                )
            except PackError as exc:
                return exc.code.value
            finally:
                ticking.cancel()

    start_s = time.monotonic()
    found = asyncio.run(run())
    seconds = time.monotonic() - start_s
    stall = max((later - earlier for earlier, later in itertools.pairwise(ticks)), default=0.0)
    text = f"{found} in {seconds:.1f} s of a limit of 3 s, event loop stalled for {stall:.2f} s"
    if seconds > 6 or stall > 2:
        return broken(text)
    return held(text) if stall < 1 else degraded(text)
