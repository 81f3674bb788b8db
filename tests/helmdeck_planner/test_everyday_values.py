"""Values in the forms of everyday requests: ids of random letters, texts after a colon, names given later, colours, hosts."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, tool

LOGS = tool("get_logs", {"tail": described("Number of lines", NUMBER)}, container_id=described("Container ID or name"))
PROJECT = tool("pause_project", project_id=described("ID of the project"))
HOLD = tool(
    "place_hold", patron_id=described("Card number of the patron"), record=described("Number of the record", NUMBER)
)
OVERRIDE = tool("create_override", schedule_id=TEXT, user_id=TEXT)
COMMENT = tool("create_comment", page_id=described("ID of the page"), text=described("The content of the comment"))
POST = tool("post_message", channel_id=described("The ID of the channel"), text=described("The message text"))
COLUMN = tool("add_list", name=described("Name of the new list"))
REACTION = tool("add_reaction", message_id=TEXT, reaction=described("The name of the emoji reaction"))
BOARD = tool("create_board", {"color": described("Color of the board")}, name=described("Name of the board"))
RECORD = tool(
    "create_record", {"proxied": SWITCH}, name=described("Host name of the record"), content=described("An IP address")
)
SSL = tool("set_ssl", zone_id=described("ID of the zone"), value={"enum": ["off", "flexible", "strict"]})
LIST = tool("list_containers", {"all": {**SWITCH, "description": "Show all containers, not only the running ones"}})
ALERT = tool("set_alert", {"below": NUMBER, "above": NUMBER}, hive_id=described("ID of the hive"))
HISTORY = tool(
    "get_history", {"limit": described("How many messages", NUMBER)}, channel_id=described("ID of the channel")
)
TABLE = tool("describe_table", table_name=TEXT)
MONEY = tool("convert_currency", amount=NUMBER, from_currency=TEXT, to_currency=TEXT)
EVENT = tool("create_event", title=TEXT)
PATRON = tool("add_patron", firstname=described("First name"), surname=described("Family name"))


@each_case(
    ("entry", "request_text", "args"),
    [
        (LOGS, "get the last 50 lines of mailrelay", {"container_id": "mailrelay", "tail": 50}),
        (LOGS, "get the five newest lines of web-1", {"container_id": "web-1", "tail": 5}),
        (PROJECT, "pause the project ydnvotcpkmsejqwx", {"project_id": "ydnvotcpkmsejqwx"}),
        (HOLD, "place a hold for card 7719 on record 50263", {"patron_id": "7719", "record": 50263}),
        (OVERRIDE, "create an override: PNADIA5 takes my shift in PROT9XK", {"schedule_id": "PROT9XK", "user_id": "PNADIA5"}),
        (COMMENT, "create a comment on page 9f31c2: prices are from last year", {"page_id": "9f31c2", "text": "prices are from last year"}),
        (POST, "tell C07FRONT that the vpn is back", {"channel_id": "C07FRONT", "text": "the vpn is back"}),
        (COLUMN, "add a list called Waiting for Customer", {"name": "Waiting for Customer"}),
        (REACTION, "add an eagle emoji to m-17", {"message_id": "m-17", "reaction": "eagle"}),
        (BOARD, "create a board for the flat, name it Kitchen Refit, in green", {"name": "Kitchen Refit", "color": "green"}),
        (RECORD, "create a record from status.example.org to 203.0.113.44, not proxied", {
            "name": "status.example.org", "content": "203.0.113.44", "proxied": False,
        }),
        (SSL, "set ssl of zone c01d55 to strict, flexible was never meant to stay", {"zone_id": "c01d55", "value": "strict"}),
        (LIST, "list the containers, dead ones too", {"all": True}),
        (ALERT, "set an alert when orchard-2 gets lighter than 24", {"hive_id": "orchard-2", "below": 24}),
        (TABLE, "which columns does audit_log have", {"table_name": "audit_log"}),
        (MONEY, "a Swiss firm wants 320 francs, how many Danish crowns is that?", {
            "amount": 320, "from_currency": "CHF", "to_currency": "DKK",
        }),
        (PATRON, "add Casimir Vole as a patron", {"firstname": "Casimir", "surname": "Vole"}),
    ],
)  # fmt: skip
def test_a_value_of_an_everyday_request_goes_to_its_input(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (PROJECT, "pause the project with 20000 users", {}),
        (PROJECT, "pause the project accommodations", {}),
        (LOGS, "get the logs of yesterday", {}),
        (LOGS, "get the logs of web-1, one last time", {"container_id": "web-1"}),
        (LOGS, "get the last twenty five lines of web-1", {"container_id": "web-1", "tail": 25}),
        (COLUMN, "add a new list", {}),
        (EVENT, "create an event at Central Station", {}),
        (BOARD, "create a board called green", {"name": "green"}),
        (COMMENT, "create a comment on page 9f31c2", {"page_id": "9f31c2"}),
        (POST, "post a message that is visible to all to C07FRONT", {"channel_id": "C07FRONT"}),
        (LIST, "list the containers", {}),
        (RECORD, "create a record from status.example.org to 203.0.113.44", {"name": "status.example.org", "content": "203.0.113.44"}),
    ],
)  # fmt: skip
def test_a_word_beside_a_request_is_left_out(entry: dict[str, Any], request_text: str, args: dict[str, Any]) -> None:
    assert arguments(request_text, entry) == args
