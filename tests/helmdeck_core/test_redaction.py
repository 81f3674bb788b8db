"""Secret values are not shown, and secrets are redacted from text in any encoding."""

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

from helmdeck_core.redaction import Hidden, Secrets, redacted, without_cut_secret
from helmdeck_core.secret_places import header_secrets, shown_url, speaks_of_secrets, url_secrets
from tests.case_support import each_case

KEY = 'kq7Zr0Wm/4Xc9Tb+2Ld8"Gn5Vf=1Hs&6Jp<3\\Ya'
ESCAPES = {
    "plain": str,
    "URL": quote,
    "URL component": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON with escaped slashes": lambda text: json.dumps(text)[1:-1].replace("/", "\\/"),
    "HTML": html.escape,
    "repr": lambda text: repr(text.encode())[2:-1],
    "HTML character references": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "JSON code points": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "percent encoding": lambda text: "".join(f"%{ord(char):02x}" for char in text),
}
ENCODINGS = {
    "base64": (base64.b64encode, "", ""),
    "URL-safe base64": (base64.urlsafe_b64encode, "", ""),
    "base64 of user name and password": (base64.b64encode, "u:", ""),
    "base64 of a header": (base64.b64encode, "Bearer ", ", and more"),
    "hex": (lambda data: data.hex().encode(), "x-key: ", ""),
}
PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=8, max_size=60)


def parts(text, size=9):
    return {text[start : start + size] for start in range(len(text) - size + 1)}


@each_case("name", ESCAPES)
def test_escaped_secret_is_redacted(name):
    form = ESCAPES[name](KEY)
    text = redacted(f"we got {form} from you", (KEY,), 4_000)
    assert "[redacted]" in text
    assert not {part for part in parts(form) if part in text}


@each_case("name", ENCODINGS)
def test_encoded_secret_is_redacted_at_any_offset(name):
    encode, before, after = ENCODINGS[name]
    form = encode(f"{before}{KEY}{after}".encode()).decode()
    text = redacted(f"we got {form} from you", (KEY,), 4_000)
    assert "[redacted]" in text
    others = encode(f"{len(before) * '#'}{KEY}{len(after) * '~'}".encode()).decode()
    assert not {part for part in parts(form) & parts(others) if part in text}, (
        "characters that depend on the secret only"
    )


@given(PRINTABLE, st.lists(st.sampled_from(list(ESCAPES)), max_size=3), st.text(max_size=20))
def test_repeatedly_escaped_secret_is_redacted(secret, names, around):
    form = secret
    for name in names:
        form = ESCAPES[name](form)
    text = redacted(f"{around} {form} {around}", (secret,), 100_000)
    assert form not in text


@given(st.text(max_size=60), st.lists(st.text(min_size=4, max_size=20), max_size=3), st.integers(0, 70))
def test_text_without_secrets_is_unchanged(text, secrets, limit):
    known = Secrets(secrets)
    if not known.are_in(text) and without_cut_secret(text[:limit], known) == text[:limit]:
        assert redacted(text, known, limit) == text[:limit]


def test_whole_text_is_redacted_if_the_secret_cannot_be_located():
    assert redacted(f"so it is {ESCAPES['JSON code points'](KEY)} then", (KEY,), 4_000) == "[redacted]"
    assert redacted("100% of what you &amp; I said", (KEY,), 4_000) == "100% of what you &amp; I said"


def test_short_value_does_not_match_base64_by_chance():
    text = base64.b64encode(b"the tenant is blue, as ever").decode()
    assert redacted(text, ("blue",), 4_000) == text


@given(st.sampled_from(Secrets((KEY,)).forms), st.integers(1, 120))
def test_secret_split_by_the_limit_is_redacted(form, limit):
    assert not {part for part in parts(form, 4) if part in redacted(f"## {form} ##", (KEY,), limit)}


# -- parts of secrets -----------------------------------------------------------------------------------------

DAMAGES = {
    "truncated": lambda text: text[: -max(2, len(text) // 16)],
    "without its start": lambda text: text[4:],
    "the middle": lambda text: text[5:-5],
    "upper case": str.upper,
    "lower case": str.lower,
    "spaced": " ".join,
    "in groups": lambda text: " ".join(text[start : start + 4] for start in range(0, len(text), 4)),
    "on several lines": lambda text: "\n".join(text[start : start + 10] for start in range(0, len(text), 10)),
    "truncated, spaced and in upper case": lambda text: " ".join(text[:-3].upper()),
    "with dashes": lambda text: "-".join(text[start : start + 8] for start in range(0, len(text), 8)),
}
TOKEN = "sk-proj-9fK2mQ7xLw4Rb8Zt6Vn3Hc5J"


def squashed(text):
    return "".join(filter(str.isalnum, text)).lower()


@each_case("damage", DAMAGES.values(), ids=DAMAGES)
@each_case("secret", [TOKEN, KEY])
def test_damaged_secret_is_redacted_in_every_form(secret, damage):
    encoded = [lambda text, e=e: e(text.encode()).decode() for e, _, _ in ENCODINGS.values()]
    for encode in (str, *list(ESCAPES.values())[1:8], *encoded):
        form = damage(encode(secret))
        shown = redacted(f"the value {form} is not valid", (secret,), 4_000)
        left = squashed(form)
        assert not {part for part in parts(left, 10) if part in squashed(shown)}, form
        encoded_damage = encode(damage(secret))
        shown = redacted(f"the value {encoded_damage} is not valid", (secret,), 4_000)
        assert encode is not str or encoded_damage not in shown


@pytest.mark.parametrize("escape", [quote, lambda text: json.dumps(text)[1:-1], html.escape])
def test_secret_that_is_truncated_before_it_is_escaped_is_redacted(escape):
    for part in (KEY[:30], KEY[3:], KEY[3:30].upper()):
        assert part not in (shown := redacted(f"the value {escape(part)} is not valid", (KEY,), 4_000))
        assert not {each for each in parts(squashed(part), 10) if each in squashed(shown)}


@each_case("size", [30, 20, 12])
@each_case("tail", ["", ".", " is wrong", "..."])
def test_truncated_secret_is_redacted_whatever_follows(size, tail):
    assert TOKEN[8:size] not in redacted(f"Incorrect key: {TOKEN[:size]}{tail}", (TOKEN,), 4_000)


@each_case(
    "text",
    [
        "Production is down; the password reset service answers 503",
        "PRODUCTION SERVICE PASSWORD",
        "gpt-4o-2024-08-06 was released on 2024-08-06",
        "request 20240806 failed",
        "We reset your production database",
    ],
)
def test_common_words_and_numbers_are_shown_although_secrets_contain_them(text):
    secrets = ("my-Production-password-for-the-reset-service", "tenant-2024-08-06-database-x7Kq")
    assert redacted(text, secrets, 4_000) == text


def test_common_word_that_is_the_whole_secret_is_redacted_in_any_case():
    assert redacted("it is SWORDFISH, or Sword Fish", ("swordfish",), 4_000) == "it is [redacted], or [redacted]"


# -- hidden values --------------------------------------------------------------------------------------------


@attrs.frozen
class Holder:
    headers: Hidden[str, str]


def test_hidden_values_are_readable_but_not_shown():
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
def test_hidden_values_cannot_be_serialized(value):
    with pytest.raises(TypeError, match="not"):
        pickle.dumps(value)
    for write in (msgspec.json.encode, json.dumps, vars):
        with pytest.raises(TypeError) as caught:
            write(value)
        assert KEY not in str(caught.value)


def test_copy_of_hidden_values_is_the_same_object():
    hidden = Hidden({"x": KEY})
    assert copy.copy(hidden) is copy.deepcopy(hidden) is hidden


# -- configuration --------------------------------------------------------------------------------------------


@each_case(
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
def test_url_is_shown_without_userinfo_query_and_fragment(url, shown):
    assert shown_url(url) == shown


def test_secrets_of_a_url_are_its_password_decoded_and_encoded():
    assert set(url_secrets("http://hugo:p%40ss%2F1@proxy:3128")) == {"p@ss/1", "hugo:p@ss/1", "p%40ss%2F1"}
    assert not list(url_secrets("http://proxy:3128")) + list(url_secrets("http://[::1")) + list(url_secrets(""))


def test_secrets_of_headers_are_all_values_of_sufficient_length():
    basic = base64.b64encode(b"hugo:p4ssw0rd").decode()
    headers = {"a": "Bearer abcdefgh", "b": f"Basic {basic}", "c": "on", "d": "Basic !!!!", "e": "token=1 2"}
    assert set(header_secrets(headers)) == {"abcdefgh", basic, "hugo:p4ssw0rd", "p4ssw0rd", "!!!!", "token=1 2"}


@each_case("name", ["api_key", "Authorization", "sessionToken", "X-Goog-Api-Key", "PASSWORD", "set-cookie"])
def test_secret_like_names_are_detected(name):
    assert speaks_of_secrets(name)
    assert not speaks_of_secrets("region")
