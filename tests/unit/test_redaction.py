"""What must not be shown hides itself, and is found again in whatever form it comes back."""

from __future__ import annotations

import base64
import copy
import html
import json
import pickle
from urllib.parse import quote, quote_plus

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core.redaction import (
    Hidden,
    Secrets,
    header_secrets,
    redacted,
    shown_url,
    speaks_of_secrets,
    url_secrets,
    without_cut_secret,
)

KEY = 'kq7Zr0Wm/4Xc9Tb+2Ld8"Gn5Vf=1Hs&6Jp<3\\Ya'
ESCAPES = {
    "plain": str,
    "in an address": quote,
    "wholly in an address": lambda text: quote(text, safe=""),
    "in a form": quote_plus,
    "in JSON": lambda text: json.dumps(text)[1:-1],
    "in JSON with slashes escaped": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "in HTML": html.escape,
    "in a repr": lambda text: repr(text.encode())[2:-1],
    "as numbers of HTML": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "as numbers of JSON": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "as numbers of an address": lambda text: "".join(f"%{ord(char):02x}" for char in text),
}
CODES = {
    "base64": (base64.b64encode, "", ""),
    "base64 for addresses": (base64.urlsafe_b64encode, "", ""),
    "base64 of a name and a password": (base64.b64encode, "u:", ""),
    "base64 of a header": (base64.b64encode, "Bearer ", ", and more"),
    "hex": (lambda data: data.hex().encode(), "x-key: ", ""),
}
PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=60)


def parts(text, size=9):
    return {text[start : start + size] for start in range(len(text) - size + 1)}


@pytest.mark.parametrize("way", ESCAPES)
def test_a_secret_is_found_in_the_form_in_which_it_comes_back(way):
    form = ESCAPES[way](KEY)
    found = redacted(f"we got {form} from you", (KEY,), 4_000)
    assert "[redacted]" in found
    assert not {part for part in parts(form) if part in found}


@pytest.mark.parametrize("way", CODES)
def test_a_secret_is_found_in_a_code_wherever_in_it_it_begins(way):
    encode, before, after = CODES[way]
    form = encode(f"{before}{KEY}{after}".encode()).decode()
    found = redacted(f"we got {form} from you", (KEY,), 4_000)
    assert "[redacted]" in found
    others = encode(f"{len(before) * '#'}{KEY}{len(after) * '~'}".encode()).decode()
    assert not {part for part in parts(form) & parts(others) if part in found}, "what the secret alone decides"


@given(PRINTABLE, st.lists(st.sampled_from(list(ESCAPES)), max_size=3), st.text(max_size=20))
def test_a_secret_is_found_however_often_it_was_escaped(secret, ways, around):
    form = secret
    for way in ways:
        form = ESCAPES[way](form)
    found = redacted(f"{around} {form} {around}", (secret,), 100_000)
    assert form not in found


@given(st.text(max_size=60), st.lists(st.text(min_size=4, max_size=20), max_size=3), st.integers(0, 70))
def test_what_holds_no_secret_stays_as_it_is(text, secrets, limit):
    told = Secrets(secrets)
    if not told.are_in(text) and without_cut_secret(text[:limit], told) == text[:limit]:
        assert redacted(text, told, limit) == text[:limit]


def test_an_escaped_secret_whose_place_is_not_known_hides_all_of_the_text():
    assert redacted(f"so it is {ESCAPES['as numbers of JSON'](KEY)} then", (KEY,), 4_000) == "[redacted]"
    assert redacted("100% of what you &amp; I said", (KEY,), 4_000) == "100% of what you &amp; I said"


def test_a_short_value_is_not_found_by_chance_in_base64():
    text = base64.b64encode(b"the tenant is blue, as ever").decode()
    assert redacted(text, ("blue",), 4_000) == text


@given(st.sampled_from(Secrets((KEY,)).forms), st.integers(1, 120))
def test_a_limit_that_cuts_a_form_of_a_secret_leaves_no_part_of_it(form, limit):
    assert not {part for part in parts(form, 4) if part in redacted(f"## {form} ##", (KEY,), limit)}


# -- values that hide themselves ------------------------------------------------------------------------------


@attrs.frozen
class Holder:
    headers: Hidden[str, str]


def test_hidden_values_are_there_to_be_sent_and_shown_by_their_names_alone():
    hidden = Hidden({"x-tenant": KEY})
    assert (dict(hidden), hidden["x-tenant"], len(hidden)) == ({"x-tenant": KEY}, KEY, 1)
    assert repr(hidden) == str(hidden) == "<x-tenant: (not shown)>"
    assert f"{Holder(hidden)} {attrs.asdict(Holder(hidden))}" == (
        "Holder(headers=<x-tenant: (not shown)>) {'headers': <x-tenant: (not shown)>}"
    )
    assert repr(Secrets((KEY, "other"))) == "<2 secrets>"
    assert hidden == {"x-tenant": KEY}
    assert repr(Hidden()) == "{}"


@pytest.mark.parametrize("value", [Hidden({"x": KEY}), Secrets((KEY,)), Holder(Hidden({"x": KEY}))])
def test_nothing_writes_hidden_values_down(value):
    with pytest.raises(TypeError, match="not"):
        pickle.dumps(value)
    for write in (msgspec.json.encode, json.dumps, vars):
        with pytest.raises(TypeError) as caught:
            write(value)
        assert KEY not in str(caught.value)


def test_a_copy_of_hidden_values_is_themselves():
    hidden = Hidden({"x": KEY})
    assert copy.copy(hidden) is copy.deepcopy(hidden) is hidden


# -- what a deployment says -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host:8000/v1", "https://host:8000/v1"),
        ("https://user:pw@host/v1", "https://(not shown)@host/v1"),
        ("https://user:p@w/1@host/v1", "https://(not shown)@host/v1"),
        ("user:pw@host/v1", "(not shown)@host/v1"),
        ("https://host/v1?key=abc&a=b", "https://host/v1?(not shown)"),
        ("https://host/v1#abc", "https://host/v1#(not shown)"),
        ("https://u:p@host?key=a@b", "https://(not shown)@b"),
        ("sqlite:~/.helmdeck/history.db", "sqlite:~/.helmdeck/history.db"),
        ("postgres://u:p@host/db?sslpassword=x", "postgres://(not shown)@host/db?(not shown)"),
    ],
)
def test_an_address_is_shown_without_who_asks_and_without_its_query(url, shown):
    assert shown_url(url) == shown


def test_the_secrets_of_an_address_are_its_password_as_it_is_and_as_it_was_written():
    assert set(url_secrets("http://hugo:p%40ss%2F1@proxy:3128")) == {"p@ss/1", "hugo:p@ss/1", "p%40ss%2F1"}
    assert not list(url_secrets("http://proxy:3128")) + list(url_secrets("http://[::1")) + list(url_secrets(""))


def test_the_secrets_of_headers_are_all_values_that_are_long_enough():
    basic = base64.b64encode(b"hugo:p4ssw0rd").decode()
    headers = {"a": "Bearer abcdefgh", "b": f"Basic {basic}", "c": "on", "d": "Basic !!!!", "e": "token=1 2"}
    assert set(header_secrets(headers)) == {"abcdefgh", basic, "hugo:p4ssw0rd", "p4ssw0rd", "!!!!", "token=1 2"}


@pytest.mark.parametrize(
    "name", ["api_key", "Authorization", "sessionToken", "X-Goog-Api-Key", "PASSWORD", "set-cookie"]
)
def test_a_name_that_speaks_of_secrets_is_known(name):
    assert speaks_of_secrets(name)
    assert not speaks_of_secrets("region")
