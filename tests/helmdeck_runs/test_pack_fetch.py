"""``http.fetch`` reaches public addresses only, also by redirects and name servers, and reads bounded bodies."""

import asyncio
import gzip
import socket
import threading

import httpcore2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import PackError, PackErrorCode
from helmdeck_runs import WebPageError, web_page
from helmdeck_runs.packs.html_text import html_text
from helmdeck_runs.packs.public_network import PublicNetwork, RefusedAddress, is_public
from helmdeck_testing import make_deck
from helmdeck_testing.byte_server import ByteServer
from tests.case_support import each_case


def response(body=b"", status="200 OK", **headers):
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status}", f"content-length: {len(body)}", *lines])
    return head.encode() + b"\r\n\r\n" + body


def fetched(*answers, path="/", allow=("127.0.0.1",), options=None, **arguments):
    """Fetch from a server; return the output or the failure, and the heads of the requests."""

    async def use():
        config = {"packs": {"options": {"http": {"allow": list(allow), **(options or {})}}}}
        async with ByteServer(*answers) as server, make_deck(config=config) as deck:
            url = server.url + path
            try:
                output = await deck.arun("http.fetch", {"url": url, **arguments})
            except PackError as exc:
                output = exc
            return output, [head.decode().lower() for head in server.heads]

    return asyncio.run(use())


PRIVATE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
    "0.0.0.0", "255.255.255.255", "224.0.0.1", "168.63.129.16", "192.0.2.1", "198.18.0.1", "240.0.0.1", "192.0.0.192",
    "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "2001:db8::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::",
    "::7f00:1", "::808:808", "64:ff9b:1::7f00:1", "5f00::1", "::ffff:0:7f00:1",
]  # fmt: skip


@each_case("address", PRIVATE)
def test_private_addresses_are_not_public(address):
    assert not is_public(address)


@each_case("address", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808"])
def test_public_addresses_are(address):
    assert is_public(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "[::1]", "localhost", "169.254.169.254", "[::ffff:127.0.0.1]"])
def test_private_hosts_are_refused_without_a_connection(address):
    with make_deck() as deck, pytest.raises(PackError, match="is not public") as caught:
        deck.run("http.fetch", {"url": f"http://{address}:1/"})
    assert caught.value.code is PackErrorCode.INVALID_INPUT and "[packs.options.http] allow" in caught.value.detail


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.com/", "http:///x", "gopher://x/", "//example.com/x", "http://user:pw@example.com/",
        "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://exa mple.com/",
        "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://example.com:0/", "http://example.com:99999/", "http://example.com/\r\nHost: x",
    ],
)  # fmt: skip
def test_urls_that_are_no_plain_http_urls_are_refused(url):
    with make_deck() as deck, pytest.raises(PackError) as caught:
        deck.run("http.fetch", {"url": url})
    assert caught.value.code is PackErrorCode.INVALID_INPUT and "pw" not in caught.value.detail


def resolver(monkeypatch, *answers):
    """Let the name server give one answer after the other."""
    calls, left = [], list(answers)

    async def getaddrinfo(self, host, port, **options):
        calls.append(host)
        found = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return calls


class Connections(httpcore2.AsyncNetworkBackend):
    def __init__(self):
        self.hosts = []

    async def connect_tcp(self, host, *rest):
        self.hosts.append(host)
        raise httpcore2.ConnectError("no network in tests")


def test_the_checked_address_is_the_one_that_is_connected_to(monkeypatch):
    calls = resolver(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    network = PublicNetwork(())
    network._backend = connections = Connections()
    with pytest.raises(httpcore2.ConnectError):
        asyncio.run(network.connect_tcp("rebinding.example", 80))
    assert calls == ["rebinding.example"], "a second lookup could give another address"
    assert connections.hosts == ["93.184.216.34"]


def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch):
    resolver(monkeypatch, ["93.184.216.34", "10.0.0.1"])
    with pytest.raises(RefusedAddress, match=r"10\.0\.0\.1"):
        asyncio.run(PublicNetwork(()).checked_addresses("mixed.example", 80))
    assert asyncio.run(PublicNetwork(["10.0.0.0/8"]).checked_addresses("mixed.example", 80))
    assert asyncio.run(PublicNetwork(["mixed.example"]).checked_addresses("mixed.example", 80))


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2:1/",
        "http://169.254.169.254/latest/",
        "//[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://[::7f00:1]/",
    ],
)
def test_redirects_to_private_addresses_are_refused(target):
    failed, heads = fetched(response(status="302 Found", location=target))
    assert failed.code is PackErrorCode.INVALID_INPUT and "is not public" in failed.detail
    assert len(heads) == 1


def test_redirects_are_followed_a_few_times():
    output, heads = fetched(response(status="302 Found", location="/next"), response(b"ok", content_type="text/plain"))
    assert output["text"] == "ok" and output["url"].endswith("/next") and "get /next" in heads[1]
    failed, heads = fetched(response(status="302 Found", location="/again"))
    assert "more than 5 redirects" in failed.detail and len(heads) == 6
    failed, _ = fetched(response(status="302 Found", location="file:///etc/passwd"))
    assert failed.code is PackErrorCode.INVALID_INPUT


def test_credentials_stay_with_their_host():
    async def use():
        async with ByteServer(response(b"ok")) as other:
            target = other.url.replace("127.0.0.1", "localhost")
            config = {"packs": {"options": {"http": {"allow": ["127.0.0.1", "localhost"]}}}}
            async with (
                ByteServer(response(status="307 Moved", location=target)) as server,
                make_deck(config=config) as deck,
            ):
                url = server.url
                headers = {"Authorization": "Bearer abc", "X-Extra": "1"}
                await deck.arun("http.fetch", {"url": url, "headers": headers})
            return server.heads[0].lower(), other.heads[0].lower()

    first, second = asyncio.run(use())
    assert b"bearer abc" in first and b"bearer abc" not in second and b"x-extra" in second


def test_bodies_are_limited_and_bombs_are_refused():
    failed, _ = fetched(response(b"x" * 2_000, content_type="text/plain"), options={"max_bytes": 1_000})
    assert failed.code is PackErrorCode.HANDLER_FAILED and "larger than 1,000 bytes" in failed.detail
    bomb = gzip.compress(b"\0" * 20_000_000)
    assert len(bomb) < 100_000
    failed, heads = fetched(response(bomb, content_encoding="gzip", content_type="text/plain"))
    assert "larger than 2,500,000 bytes" in failed.detail and "accept-encoding: gzip, deflate" in heads[0]
    failed, _ = fetched(response(gzip.compress(bomb), content_encoding="gzip, gzip", content_type="text/plain"))
    assert failed.code is PackErrorCode.HANDLER_FAILED
    failed, _ = fetched(response(b"xx", content_encoding="br"))
    assert "unknown encoding" in failed.detail
    output, _ = fetched(response(gzip.compress(b"fine"), content_encoding="gzip", content_type="text/plain"))
    assert output["text"] == "fine"


@pytest.mark.parametrize(
    "headers", [{"Host": "x"}, {"transfer-encoding": "chunked"}, {"x": "a\r\nb: c"}, {"bad name": "x"}]
)
def test_headers_cannot_change_the_request(headers):
    failed, heads = fetched(response(b"ok"), headers=headers)
    assert failed.code is PackErrorCode.INVALID_INPUT and heads == []


def test_page_becomes_text_and_other_bodies_become_files(tmp_path, monkeypatch):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    page = b"<title>A &amp; B</title><script>evil()</script><nav>menu</nav><p>one<br>two</p><ul><li>x</ul>"
    output, _ = fetched(response(page, content_type="text/html; charset=utf-8"))
    assert (output["title"], output["text"], output["status"]) == ("A & B", "one\ntwo\n- x", 200)
    assert fetched(response(page, content_type="text/html"), raw=True)[0]["text"] == page.decode()
    output, _ = fetched(response(b"\x89PNG", content_type="image/png"))
    assert output["artifacts"][0]["media_type"] == "image/png" and "text" not in output
    output, heads = fetched(response(b'{"a": 1}', content_type="application/json"), method="POST", body="{}")
    assert output["text"] == '{"a": 1}' and heads[0].startswith("post / ")
    output, _ = fetched(response(b"gone", status="404 Not Found", content_type="text/plain"))
    assert (output["status"], output["text"]) == (404, "gone")


def test_body_of_a_get_request_and_a_closed_port_are_typed_failures():
    assert fetched(response(b""), body="x")[0].code is PackErrorCode.INVALID_INPUT
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        port = plug.getsockname()[1]
    config = {"packs": {"options": {"http": {"allow": ["127.0.0.0/8"]}}}}
    with make_deck(config=config) as deck, pytest.raises(PackError, match="no response") as caught:
        deck.run("http.fetch", {"url": f"http://127.0.0.1:{port}/"})
    assert caught.value.code is PackErrorCode.HANDLER_FAILED


def test_urls_outside_of_ascii_are_sent_encoded():
    output, heads = fetched(response(b"ok", content_type="text/plain"), path="/grüße?q=ä%20b")
    assert output["text"] == "ok" and "get /gr%c3%bc%c3%9fe?q=%c3%a4%20b http" in heads[0]
    failed, _ = fetched(response(status="302 Found", location="http://[::1/"))
    assert failed.code is PackErrorCode.INVALID_INPUT


def test_timeout_takes_effect_while_a_page_is_read(monkeypatch):
    has_ended = threading.Event()

    def blocked(html, bullet):
        has_ended.wait(60)
        return "", ""

    monkeypatch.setattr("helmdeck_runs.packs.html_text.html_text", blocked)
    page = response(b"<p>x", content_type="text/html")

    async def use():
        async with ByteServer(page) as server:
            try:
                await web_page(server.url, allow=("127.0.0.1",), timeout_s=0.05)
            except WebPageError as exc:
                return exc
            finally:
                has_ended.set()

    assert str(asyncio.run(use())) == "no response after 0.05 s"


# -- the text of a page ----------------------------------------------------------------------------------------

PAGES = {
    "nested and unclosed": ("<svg><svg></svg><text>no</text></svg>yes<p>a<div>b", "yes\na\nb"),
    "title": ("<title>A &lt;b&gt; <i></title>x", "x"),
    "comments": ("a<!-- > -- -->b<!-->c<!--->d<!doctype html>e<?xml?>f</ >g<!-- no", "abcdefg"),
    "signs in text": ("1 < 2 &amp; 3 > 2 <3 &copy; &#65;&#x42;", "1 < 2 & 3 > 2 <3 © AB"),
    "quoted values": ("""<a title=">no" alt='">no' x = ">no" y=a"b>yes</a>""", "yes"),
    "quote in a name": ('<a"b>yes', "yes"),
    "scripts": ("<script>'<p>no</p>' </scripts></SCRIPT >yes<style>no", "yes"),
    "closed at the start": ('<script src="x"/>a<nav/>b<svg />c<br/>d', "abc\nd"),
    "text areas": ("<textarea><b>&amp;</textarea>x", "<b>&x"),
    "unclosed tag": ("yes<a b='", "yes"),
    "huge character number": (f"a&#{'1' * 5_000};b&#x110000;", "a\ufffdb\ufffd"),
    "marked section": ("a<![CDATA[no]]>b<![<![<! no>c", "abc"),
}


@each_case("html", PAGES)
def test_page_is_read_as_the_standard_delimits_its_tags(html):
    page, text = PAGES[html]
    assert html_text(page)[1] == text
    assert html_text("<title>A &lt;b&gt; <i></title>")[0] == "A <b> <i>"


@each_case(
    "shape",
    ['<a"', "<!--", "<![", "<a b=", '<a b="', "</", "<?", "&", "&#1", "<script>", "<title>", "<div>", "<b></i>", "<"],
)
def test_large_page_is_read_in_one_pass(shape):
    # With time that grows quadratically, most of these take minutes.
    page = shape * (200_000 // len(shape))
    assert len(html_text(page)[1]) <= len(page)


@given(st.text("<>/!-?=\"' abi&#;\n"))
def test_every_page_has_a_text(html):
    _, text = html_text(html)
    assert not any(line == "" or line != line.strip() for line in text.splitlines())
