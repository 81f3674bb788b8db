"""Greetings have no step, and abbreviations are neither exclusions nor names."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import SWITCH, arguments, described, plan, tool


@each_case("request_text", ["hi", "ok", "ok, good", "good morning"])
def test_a_greeting_has_no_step(request_text: str) -> None:
    post = {**tool("chat_post"), "description": "Post a message to a channel."}
    check = {**tool("av_validate"), "description": "Check that a file is ok."}
    assert [step["tool"] for step in plan(request_text, post, check)] == ["unknown"]


PAY = tool("pay_invoice", invoice_id=described("Number of the invoice"))
RESTART = tool("restart_container", {"force": SWITCH}, container=described("Name or id"))


@each_case(
    ("entry", "request_text", "args"),
    [
        (PAY, "pay invoice no. 1001", {"invoice_id": "1001"}),
        (PAY, "pay the invoice No. 1001", {"invoice_id": "1001"}),
        (RESTART, "restart the container web, i.e. by force", {"container": "web", "force": True}),
    ],
)
def test_abbreviations_exclude_nothing_and_are_no_names(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_a_word_of_everyday_english_is_not_a_code() -> None:
    buy = tool("buy", symbol=described("Ticker symbol, e.g. ACME"))
    assert all("symbol" not in step["args"] for step in plan("buy milk", buy))
    assert arguments("buy ACME", buy) == {"symbol": "ACME"}


TICKETS = tool("list_tickets", {"status": {"enum": ["new", "open"]}})
TICKET = {**tool("create_ticket", subject=described("Subject")), "annotations": {"readOnlyHint": False}}
BUCKET = described("Name of the bucket")
KEY = described("Key of the object")
UPLOAD = tool("upload_object", bucket=BUCKET, key=KEY, path=described("Path of the local file"))
DROP = {**tool("delete_object", bucket=BUCKET, key=KEY), "annotations": {"destructiveHint": True}}
SPOTS = tool(
    "find_spots", {"max_price": described("Highest price in euros", {"type": "number"})}, near=described("Place")
)


def test_open_things_are_listed_and_none_is_opened() -> None:
    assert [step["tool"] for step in plan("open tickets of Ann", TICKETS, TICKET)] == ["list_tickets"]


def test_a_deletion_for_later_is_a_gap() -> None:
    [step] = plan("delete in/a.txt from logs-2027 after 30 days", DROP)
    assert step["tool"] == "unknown"
    assert "after 30 days" in step["rationale"]


def test_bucket_key_and_local_file_go_to_their_inputs() -> None:
    found = arguments("upload /tmp/a.txt to logs-2027 as in/a.txt", UPLOAD)
    assert found == {"bucket": "logs-2027", "key": "in/a.txt", "path": "/tmp/a.txt"}


def test_the_number_of_a_plate_is_not_a_price() -> None:
    assert all("max_price" not in step["args"] for step in plan("find spots near B-AX 417", SPOTS))


def test_the_word_for_a_currency_is_its_code() -> None:
    code = described("Currency code, e.g. EUR")
    convert = tool(
        "convert_currency", amount=described("Amount", {"type": "number"}), from_currency=code, to_currency=code
    )
    found = arguments("convert 850 swiss francs to euros", convert)
    assert found == {"amount": 850, "from_currency": "CHF", "to_currency": "EUR"}


START = described("New start, ISO 8601")
EVENT = tool(
    "update_event", {"start": START, "end": described("New end, ISO 8601")}, event_id=described("Id of the event")
)
MAKE = tool(
    "create_event",
    {"end": described("End, ISO 8601"), "reminder_minutes": described("Minutes before", {"type": "integer"})},
    title=described("Title"),
    start=described("Start, ISO 8601"),
)
REPLY = tool("reply", {"all": SWITCH}, mail_id=described("Id of the mail"), body=described("Text"))
SEARCH = {
    **tool("search_mail", {"query": described("Words"), "from_address": described("Only from this sender")}),
    "annotations": {"readOnlyHint": True},
}


@each_case(
    ("entry", "request_text", "args"),
    [
        (EVENT, "move the event e5 to 2027-02-02 at 10:00", {"event_id": "e5", "start": "2027-02-02T10:00"}),
        (
            MAKE,
            'create the event "Review" on 2027-02-01 from 14:00 to 15:30',
            {"title": "Review", "start": "2027-02-01T14:00", "end": "2027-02-01T15:30"},
        ),
        (
            MAKE,
            'create the event "Standup" on 2027-02-01 at 9:15 for 15 minutes',
            {"title": "Standup", "start": "2027-02-01T09:15"},
        ),
        (
            MAKE,
            'create the event "Party" on 2027-02-01 from 22:00 to 2:00',
            {"title": "Party", "start": "2027-02-01T22:00"},
        ),
        (REPLY, 'reply all to m7 with "Done"', {"mail_id": "m7", "body": "Done", "all": True}),
        (SEARCH, "find mails from ann@x.org about the budget", {"query": "budget", "from_address": "ann@x.org"}),
    ],
)
def test_short_words_decide_which_end_who_and_about_what(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args
