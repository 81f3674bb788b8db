"""Values that a request states in everyday forms: limits, people, ids, switches, dates, and facts in other sentences."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import EMAIL, NUMBER, SWITCH, TEXT, arguments, described, plan, tool

LIST: dict[str, Any] = {"type": "array", "items": TEXT}
DATE = {**TEXT, "format": "date"}
SEARCH = tool("search_products", {"max_price": NUMBER, "min_price": NUMBER}, query=TEXT)
RING = tool("start_call", number=described("Phone number to call"))
CUSTOMER = tool("create_customer", name=TEXT, email=EMAIL)
PERSON = tool("add_registrant", first_name=TEXT, last_name=TEXT, email=EMAIL)
HOTEL = tool("book_hotel", {"guests": {"type": "integer"}}, city=TEXT, check_in=DATE, check_out=DATE)
MONEY = tool("convert_currency", amount=NUMBER, from_currency=TEXT, to_currency=TEXT)
RECORD = tool("get_record", base_id=TEXT, table_id=TEXT, record_id=TEXT)
REACTION = tool("add_reaction", channel_id=TEXT, timestamp=TEXT, reaction=TEXT)
ROW = tool("create_row", table_id=TEXT, fields={"type": "object"})
MERGE = tool("merge_pull_request", {"merge_method": {"enum": ["merge", "squash", "rebase"]}}, pull_number=NUMBER)
GREP = tool("search_code", {"ignoreCase": SWITCH}, pattern=TEXT)
TREE = tool("directory_tree", {"excludePatterns": LIST}, path=TEXT)
EDITS = {
    "type": "array",
    "items": {"type": "object", "properties": {"oldText": TEXT, "newText": TEXT}, "required": ["oldText", "newText"]},
}
EDIT = tool("edit_file", path=TEXT, edits=EDITS)
BRANCH = tool("git_create_branch", {"base_branch": TEXT}, repo_path=TEXT, branch_name=TEXT)
CLIP = tool(
    "create_clip",
    {"length": described("Length in beats", NUMBER)},
    track_index=NUMBER,
    clip_index=described("Index of the slot", NUMBER),
)
NOTES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"entityName": TEXT, "contents": LIST},
        "required": ["entityName", "contents"],
    },
}
OBSERVE = tool("add_observations", observations=NOTES)
WAIT = tool(
    "wait_for", {"text": described("The text to wait for"), "textGone": described("The text to wait for to disappear")}
)
INSTALL = tool("install_package", {"version": TEXT}, package=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (SEARCH, "search products for mugs under 40", {"query": "mugs", "max_price": 40}),
        (SEARCH, "search products for mugs, nothing over 35", {"query": "mugs", "max_price": 35}),
        (SEARCH, "search products for mugs over 20", {"query": "mugs", "min_price": 20}),
        (RING, "call 0661 778 21 40", {"number": "0661 778 21 40"}),
        (CUSTOMER, "create the customer Ada Lovelace (ada@x.org)", {"name": "Ada Lovelace", "email": "ada@x.org"}),
        (PERSON, "add the registrant Ada Lovelace, ada@x.org", {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@x.org"}),
        (HOTEL, "book a hotel in Rome from 11 to 13 September 2027 for two guests", {
            "city": "Rome", "check_in": "2027-09-11", "check_out": "2027-09-13", "guests": 2,
        }),
        (HOTEL, "book a hotel in Rome from 3/4/2027 to tomorrow", {"city": "Rome", "check_in": "3/4/2027", "check_out": "tomorrow"}),
        (MONEY, "how many yen are 350 euros", {"amount": 350, "from_currency": "EUR", "to_currency": "JPY"}),
        (MONEY, "convert 5 crowns to Swiss francs", {"amount": 5, "to_currency": "CHF"}),
        (RECORD, "get recA1 in tblLeads of base appX1", {"base_id": "appX1", "table_id": "tblLeads", "record_id": "recA1"}),
        (REACTION, "add the reaction :tada: to 1712345678.000200 in C0ABC1234", {
            "channel_id": "C0ABC1234", "timestamp": "1712345678.000200", "reaction": "tada",
        }),
        (ROW, "create a row in tblMics with Name 'Beyer' and Age 36", {"table_id": "tblMics", "fields": {"Name": "Beyer", "Age": 36}}),
        (MERGE, "squash-merge pull request 52", {"pull_number": 52, "merge_method": "squash"}),
        (MERGE, "rebase and merge pull request 52", {"pull_number": 52, "merge_method": "rebase"}),
        (MERGE, "merge pull request 52", {"pull_number": 52}),
        (GREP, "search the code for 'foo', case doesn't matter", {"pattern": "foo", "ignoreCase": True}),
        (TREE, "show the directory tree of /srv, but skip vendor and .git", {"path": "/srv", "excludePatterns": ["vendor", ".git"]}),
        (EDIT, "change the color from red to blue in a.css", {"path": "a.css", "edits": [{"oldText": "red", "newText": "blue"}]}),
        (EDIT, "in b.conf replace port=80 with port=8080, just this once", {"path": "b.conf", "edits": [{"oldText": "port=80", "newText": "port=8080"}]}),
        (EDIT, "change version 1.2 to 1.3 in a.cfg", {"path": "a.cfg", "edits": [{"oldText": "1.2", "newText": "1.3"}]}),
        (EDIT, "swap foo for bar in the file a.txt", {"path": "a.txt", "edits": [{"oldText": "foo", "newText": "bar"}]}),
        (BRANCH, "create the branch fix/a off main in /srv", {"repo_path": "/srv", "branch_name": "fix/a", "base_branch": "main"}),
        (CLIP, "create a clip 16 beats long on track 6 slot 2", {"track_index": 6, "clip_index": 2, "length": 16}),
        (OBSERVE, "add the observation 'likes tea' to Ada", {"observations": [{"entityName": "Ada", "contents": ["likes tea"]}]}),
        (WAIT, "wait for the text 'Done' to disappear", {"textGone": "Done"}),
        (INSTALL, "install requests 2.31.0", {"package": "requests", "version": "2.31.0"}),
    ],
)  # fmt: skip
def test_a_value_in_an_everyday_form_goes_to_its_input(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


TASK = tool("create_task", {"due_date": DATE, "priority": {"enum": ["low", "high"]}}, title=TEXT)
LOGS = tool("get_logs", {"tail": described("Number of lines", NUMBER)}, container_id=described("Container ID or name"))
TABLE = tool("describe_table", table_name=TEXT)
MESSAGE = tool(
    "send_message", {"cc": {"type": "array", "items": EMAIL}}, to={"type": "array", "items": EMAIL}, subject=TEXT
)


@each_case(
    ("entry", "request_text", "args"),
    [
        (LOGS, "get the logs of web-1. 50 lines are enough", {"container_id": "web-1", "tail": 50}),
        (TASK, "create the task 'Pack'. It is due 2027-05-03", {"title": "Pack", "due_date": "2027-05-03"}),
        # A fact before a step may have nothing to do with it, and neither has another wish.
        (TASK, "My flight is on 2027-05-03. Create the task 'Pack'", {"title": "Pack"}),
        (TABLE, "the table users is big. Describe the table orders", {"table_name": "orders"}),
        (MESSAGE, "send a message to a@x.org, cc b@x.org, subject 'Hi'", {"to": ["a@x.org"], "cc": ["b@x.org"], "subject": "Hi"}),
    ],
)  # fmt: skip
def test_what_another_sentence_states_is_taken_only_if_it_is_about_the_step(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


ASSIGN = tool("assign_issue", issue_key=TEXT, account_id=TEXT)
COMMENT = tool("add_comment", issue_key=TEXT, comment=TEXT)
STOCK = tool("update_stock", sku=described("The SKU"), quantity=NUMBER)
MOVE = tool("move_file", source=TEXT, destination=TEXT)


@each_case(
    ("tools", "request_text", "args"),
    [
        ((ASSIGN, COMMENT), "assign issue SUP-5 to account acc-12 and add the comment 'On it'", [
            {"issue_key": "SUP-5", "account_id": "acc-12"}, {"issue_key": "SUP-5", "comment": "On it"},
        ]),
        ((STOCK,), "update the stock of TEA-50 to 12 and TEA-60 to 0", [
            {"sku": "TEA-50", "quantity": 12}, {"sku": "TEA-60", "quantity": 0},
        ]),
        ((MOVE,), "rename the file a.txt to b.txt in /srv", [{"source": "/srv/a.txt", "destination": "/srv/b.txt"}]),
    ],
)  # fmt: skip
def test_values_of_several_steps_stay_apart(
    tools: tuple[dict[str, Any], ...], request_text: str, args: list[dict[str, Any]]
) -> None:
    assert [step["args"] for step in plan(request_text, *tools)] == args


UNIT = described("Number of the unit, such as B14")
CUSTOMER_NAME = described("Name of the customer")
RENT = tool("rent_unit", {"months": NUMBER}, unit=UNIT, customer=CUSTOMER_NAME, start=DATE)
ROTA = tool("create_override", schedule_id=TEXT, user_id=TEXT)
MONITOR = tool("pause_monitor", monitor=described("Name of the monitor"))
SCALE = tool("scale_deployment", {"namespace": TEXT}, name=described("Name of the deployment"), replicas=NUMBER)
MARK = tool("mark_watched", {"user": described("Family member")}, title=described("Film or series"))
TRANSLATE = tool("find_translators", source_language=TEXT, target_language=TEXT)
TICKET = tool(
    "create_ticket",
    {"priority": described("0=None, 1=Urgent, 2=High", NUMBER), "assignee": described("User ID or 'me'")},
    title=TEXT,
)
MEETING = tool("create_meeting", {"start_time": TEXT}, topic=TEXT)
VERSIONS = tool(
    "compare_versions",
    package=described("Name of the package"),
    from_version=described("The older version"),
    to_version=described("The newer version"),
)
MOVE = tool("make_move", game_id=TEXT, move=described("Move such as e2e4"))
GAMES = tool("list_games", username=TEXT, year=NUMBER, month=NUMBER)


@each_case(
    ("entry", "request_text", "args"),
    [
        (RENT, "rent D22 for Herr Petersen from 2027-01-15", {"unit": "D22", "customer": "Herr Petersen", "start": "2027-01-15"}),
        (ROTA, "create an override, PUSER4 takes PSCHED2", {"schedule_id": "PSCHED2", "user_id": "PUSER4"}),
        (MONITOR, "pause mail-gw", {"monitor": "mail-gw"}),
        (SCALE, "scale worker in batch to 12 replicas", {"name": "worker", "namespace": "batch", "replicas": 12}),
        (MARK, "mark Casablanca from Leo's list as watched", {"title": "Casablanca", "user": "Leo"}),
        (TRANSLATE, "find translators for Italian into Swedish", {"source_language": "Italian", "target_language": "Swedish"}),
        (TICKET, 'create an urgent ticket "Rotate keys"', {"title": "Rotate keys", "priority": 1}),
        (MEETING, 'create a meeting "Roof" on 2027-05-03 at 14:30', {"topic": "Roof", "start_time": "2027-05-03T14:30"}),
        (VERSIONS, "compare lodash 4.17.21 against 4.17.20", {
            "package": "lodash", "from_version": "4.17.20", "to_version": "4.17.21",
        }),
        (MOVE, "make the move e7e5 in game g77", {"game_id": "g77", "move": "e7e5"}),
        (GAMES, "list the games of oakbishop in June 2024", {"username": "oakbishop", "year": 2024, "month": 6}),
        (HOTEL, "book a hotel in Porto for four from 2027-08-01 to 2027-08-05", {
            "city": "Porto", "check_in": "2027-08-01", "check_out": "2027-08-05", "guests": 4,
        }),
    ],
)  # fmt: skip
def test_a_value_is_known_by_its_form_or_its_place_in_the_sentence(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text"),
    [
        (MONITOR, "pause the short-notice list"),
        (MONITOR, "pause it for now"),
        (MARK, "mark the mp3 as watched"),
        (RENT, "rent a unit"),
    ],
)
def test_a_common_word_is_not_a_name(entry: dict[str, Any], request_text: str) -> None:
    assert arguments(request_text, entry) == {}
