"""What the built-in detectors find, and what only looks like it."""

import asyncio

import pytest

from benchmarks.guards.labelled import KINDS, labelled, measure
from helmdeck_core import (
    ChatRequest,
    FilePart,
    GuardServices,
    GuardSpec,
    ImagePart,
    Message,
    Role,
    SecretPattern,
    TextPart,
    ToolCall,
)
from helmdeck_guards import Guards, GuardSender
from helmdeck_guards.plain_text import PlainText
from helmdeck_testing import make_deck


@pytest.fixture(scope="module")
def detectors():
    contributions = make_deck().runtime.contributions
    services = GuardServices(secret_patterns=contributions.values_of(SecretPattern))
    specs = {each.name: each for each in contributions.values_of(GuardSpec)}
    kinds = {"secrets": lambda _: "secret", "personal_data": str}
    return [(specs[name].open(specs[name].options(), services), kind_of) for name, kind_of in kinds.items()]


def test_labelled_texts_of_the_tuning_half_are_found_and_near_misses_are_not(detectors):
    counts = measure(labelled()[::2], detectors)
    assert all(min(counts.rates(kind)) >= 0.95 for kind in KINDS), counts.texts


@pytest.mark.parametrize(
    "parts",
    [
        ("jane\u200b.doe@ac\u200bme.org",),
        ("j\u0430ne.doe@acme.org",),
        ("\uff4aane\uff20acme.org",),
        ("4111 1111 \u200b1111 1111",),
        ("\uff14111 1111 1111 1111",),
        ("gh\u00adp_" + "a1B2" * 9,),
        ("Z2hwX2ExQjJhMUIyYTFCMmExQjJhMUIyYTFCMmExQjJhMUIyYTFCMg==",),
        ("jane@ac", "me.org"),
        ("4111 1111", " 1111 1111"),
    ],
    ids=ascii,
)
def test_disguised_values_are_redacted(run, parts):
    text = run(redacting(), parts)
    assert text in ("[EMAIL_1]", "[CARD_1]", "[API_KEY_1]")


@pytest.mark.parametrize(
    "text",
    [
        "'{}'",
        "-{}",
        ".{}",
        "+{}",
        "%{}%",
        "={};",
        "<{}>",
        "({})",
        "`{}`",
        "{}_",
        "{}'s",
        "{}-",
        "{}--",
        "mailto:{}?x",
        "{}, {}",
    ],
)
def test_marks_around_a_mail_address_do_not_hide_it(run, text):
    address = "jane.o'hara-x@ac-me.co.uk"
    assert run(redacting(), [text.format(*[address] * 2)]) == text.format(*["[EMAIL_1]"] * 2)


@pytest.mark.parametrize(
    "value",
    [
        "4111 1111 1111 1111",
        "DE89370400440532013000",
        "+49 30 901820",
        "AKIA" + "Q7ZR0WM4XC9TB2LD",
        "sk-" + "aB3d" * 10,
    ],
)
def test_letters_of_scripts_without_spaces_do_not_hide_a_value(run, value):
    text = run(redacting(), [f"\u5361\u53f7\uff1a{value}\u3002 \u53f7{value}\u662f"])
    assert value not in text
    assert text.count("_1]") == 2


def test_values_behind_escapes_of_a_json_document_are_redacted(run):
    document = '{"note": "Hi,\\nAKIAQ7ZR0WM4XC9TB2LD\\n4111 1111 1111 1111"}'
    assert run(redacting(), [document]) == '{"note": "Hi,\\n[API_KEY_1]\\n[CARD_1]"}'


@pytest.mark.parametrize("key", ["ghp_" + "a1B2" * 9, "sk-" + "aB3d" * 10])
@pytest.mark.parametrize("escape", ["\\n", "\\t", "\\\\n"])
def test_escape_in_source_code_or_in_nested_json_does_not_hide_a_key(run, key, escape):
    assert run(redacting(), [f'keys = "{escape}{key}"']) == f'keys = "{escape}[API_KEY_1]"'


@pytest.mark.parametrize("scheme", ["Bearer", "basic", "token"])
def test_credentials_of_an_authorization_header_are_redacted(run, scheme):
    assert run(redacting(), [f"curl -H 'Authorization: {scheme} 8f3a9c1dZ2e4b5a6'"]) == (
        f"curl -H 'Authorization: {scheme} [PASSWORD_1]'"
    )


@pytest.mark.parametrize("value", ["Bearer $TOKEN_1", "Bearer <token-1>", "Bearer YOUR_TOKEN", "needed since 2024"])
def test_authorization_without_credentials_is_no_finding(run, value):
    text = f"Authorization: {value}"
    assert run(redacting(), [text]) == text


def test_values_in_tool_arguments_and_extra_fields_are_redacted(run):
    call = ToolCall("c", "f", '{"to": "jane\\u0040acme.org"}')
    session = redacting()
    request = run.request(session, ["x"], tool_calls=(call,), extra={"metadata": {"users": ["bob@acme.org"]}})
    assert request.messages[0].tool_calls[0].arguments == '{"to": "[EMAIL_1]"}'
    assert request.extra == {"metadata": {"users": ["[EMAIL_2]"]}}


def test_value_behind_json_escapes_gets_the_placeholder_of_the_value_and_is_restored_as_it_is(run):
    names = {"kind": "patterns", "action": "redact", "options": {"patterns": {"name": 'J\u00fcrgen "J" W'}}}
    session = Guards(make_deck(config={"guards": {"names": names}})).session(GuardSender(), "up/m")
    call = ToolCall("c", "f", '{"to": "J\\u00fcrgen \\"J\\" W"}')
    request = run.request(session, ['ask J\u00fcrgen "J" W'], tool_calls=(call,))
    assert (request.messages[0].text, request.messages[0].tool_calls[0].arguments) == (
        "ask [NAME_1]",
        '{"to": "[NAME_1]"}',
    )
    assert session.placeholders.restore("[NAME_1]") == 'J\u00fcrgen "J" W'
    assert session.placeholders.restore('"[NAME_1]"', is_json=True) == '"J\u00fcrgen \\"J\\" W"'


def test_allowed_values_are_no_findings(run):
    session = redacting(allow=["Support@acme.org"])
    assert run(session, ["support@acme.org, bob@acme.org"]) == "support@acme.org, [EMAIL_1]"


def test_equal_requests_have_equal_placeholders_and_own_ones_are_not_reused(run):
    assert run(redacting(), ["[EMAIL_1]: bob@acme.org, jo@acme.org, bob@acme.org"]) == (
        "[EMAIL_1]: [EMAIL_2], [EMAIL_3], [EMAIL_2]"
    )


@pytest.mark.parametrize("own", ["EMAIL_1", "[email_1]", r"\[EMAIL\_1\]", r"a\nEMAIL_1"])
def test_word_of_the_request_that_looks_like_a_placeholder_is_not_replaced(run, own):
    session = redacting()
    assert run(session, [f"select {own} where x = 'bob@acme.org'"]) == f"select {own} where x = '[EMAIL_2]'"
    assert session.placeholders.restore(f"select {own}, [EMAIL_2]") == f"select {own}, bob@acme.org"


def test_matches_are_placed_in_the_original():
    text = PlainText("a\\u0040b \u200bx\u0430", is_json=True)
    assert text.plain == "a@b xa"
    assert text.span(1, 2) == (1, 7)
    assert text.span(4, 6) == (10, 12)


def redacting(**table):
    tables = {
        "keys": {"kind": "secrets", "action": "redact", **table},
        "personal": {"kind": "personal_data", "action": "redact", **table},
    }
    return Guards(make_deck(config={"guards": tables})).session(GuardSender(), "up/m")


def test_files_beside_a_redacted_text_stay_as_they_are():
    with make_deck(config={"guards": {"personal": {"kind": "personal_data", "action": "redact"}}}) as deck:
        session = Guards(deck).session(GuardSender(), "up/m")
        files = (ImagePart("image/png", b"1"), FilePart("application/pdf", b"2"))
        message = Message(Role.USER, (files[0], TextPart("write to jane@acme.org"), files[1]))
        checked = asyncio.run(session.check_request(ChatRequest(model="up/m", messages=(message,))))
    assert checked.messages[0].parts == (files[0], TextPart("write to [EMAIL_1]"), files[1])
