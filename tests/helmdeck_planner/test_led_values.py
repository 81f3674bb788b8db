"""Values that the description of an input leads to, and names, numbers and switches in everyday words."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, tool

NAMES: dict[str, Any] = {"type": "array", "items": TEXT}
TICKET = tool("create_ticket", {"assignees": NAMES}, title=TEXT)
COLUMN = tool(
    "add_column", sheet_id=TEXT, name=described("Name of the new column"), type=described("Type of the column")
)
TRAIN = tool(
    "search_trains",
    {"passengers": NUMBER},
    origin=described("City of departure"),
    destination=described("City of arrival"),
)
PROBE = tool("create_probe", {"interval_seconds": described("Seconds between two probes", NUMBER)}, url=TEXT)
COST = tool(
    "add_cost", {"account": described("Card it was paid with"), "shop": described("Where it was spent")},
    amount=NUMBER, category=described("Category"),
)  # fmt: skip
CLOCK = tool(
    "start_clock", {"bonus": described("Seconds added after each turn", NUMBER), "limit": described("Minutes of each side", NUMBER)},
    player=TEXT,
)  # fmt: skip
MEMBER = tool("add_member", {"contract": {"enum": ["private", "public"], "description": "Kind of contract"}}, name=TEXT)
PARCEL = tool("reserve_parcel", {"depot": described("Branch at which it is collected")}, parcel_id=TEXT)
CARD = tool("show_card", {"includeImage": described("Whether to add a drawing", SWITCH)}, card_id=TEXT)
SHOT = tool("take_shot", {"fullPage": described("Capture the full scrollable page", SWITCH)}, window_id=TEXT)
BRANCHES = tool(
    "list_branches", {"contains": described("The commit sha to look for"), "not_contains": described("The commit sha to leave out")},
    repo_path=TEXT,
)  # fmt: skip
NODES = tool("open_entries", names={**NAMES, "description": "Names of the entries"})
TREE = tool("show_tree", {"excludePatterns": NAMES}, path=TEXT)

BILL = tool("mark_bill", bill_number=described("Number of the bill, such as 2030-12"))
STAMPS = tool("list_stamps", {"page": NUMBER, "per_page": NUMBER})
OUTAGE = tool("announce_outage", {"systems": {**NAMES, "description": "Systems that are affected"}}, title=TEXT)
UNIT: dict[str, Any] = {"enum": ["km", "mi"]}
LENGTH = tool("convert_length", value=NUMBER, from_unit=UNIT, to_unit=UNIT)
STAFF = tool("list_staff", {"limit": described("Maximum number of workers", NUMBER)})


@each_case(
    ("entry", "request_text", "args"),
    [
        (TICKET, "create a ticket with the title 'Leaky valve', it goes to mirkov", {
            "title": "Leaky valve", "assignees": ["mirkov"],
        }),
        (COLUMN, 'add a column "Weight" of type number to the sheet sh_81', {
            "sheet_id": "sh_81", "name": "Weight", "type": "number",
        }),
        (TRAIN, "three of us want to ride from Lille to Ghent", {"origin": "Lille", "destination": "Ghent", "passengers": 3}),
        (TRAIN, "search trains, Lille to Ghent", {"origin": "Lille", "destination": "Ghent"}),
        (PROBE, "create a probe for https://a.example every 2 minutes", {"url": "https://a.example", "interval_seconds": 120}),
        (COST, "I spent 12.40 on stationery at Mori, paid with the Amex", {
            "amount": 12.4, "category": "stationery", "shop": "Mori", "account": "Amex",
        }),
        (CLOCK, "start the clock for rook_88, 15 minutes plus 10 seconds", {"player": "rook_88", "limit": 15, "bonus": 10}),
        (MEMBER, "add the member 'Ida Voll', privately employed", {"name": "Ida Voll", "contract": "private"}),
        (PARCEL, "reserve the parcel pk_17, she picks it up at the Seaview branch", {
            "parcel_id": "pk_17", "depot": "Seaview",
        }),
        (CARD, "show the card cd_5, with the picture", {"card_id": "cd_5", "includeImage": True}),
        (BRANCHES, "list the branches of /srv/web that don't have 91c0ffe", {"repo_path": "/srv/web", "not_contains": "91c0ffe"}),
        (NODES, "open the entries Pia Lund and Torre do Sal", {"names": ["Pia Lund", "Torre do Sal"]}),
        (BILL, "Mark bill 2031-77 as settled", {"bill_number": "2031-77"}),
        (STAFF, "who works in our bureau? 15 people are enough", {"limit": 15}),
        (STAMPS, "list stamps, page 4, 30 each", {"page": 4, "per_page": 30}),
        (STAMPS, "list stamps, just 6 of them", {"per_page": 6}),
        (OUTAGE, "announce the outage 'New switch', affects mail and wiki", {
            "title": "New switch", "systems": ["mail", "wiki"],
        }),
        (LENGTH, "how many miles are 4.5 km?", {"value": 4.5, "from_unit": "km", "to_unit": "mi"}),
        (TREE, "show the tree of /srv/app. Ignore cache and logs", {"path": "/srv/app", "excludePatterns": ["cache", "logs"]}),
    ],
)  # fmt: skip
def test_everyday_words_state_the_values_of_inputs(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (SHOT, "take a shot of the current page of window w_3", {"window_id": "w_3"}),
        (BRANCHES, "list the branches of /srv/web that have 91c0ffe", {"repo_path": "/srv/web", "contains": "91c0ffe"}),
        (CARD, "show the card cd_5 of the picture book", {"card_id": "cd_5"}),
    ],
)  # fmt: skip
def test_words_beside_an_input_do_not_set_it(entry: dict[str, Any], request_text: str, args: dict[str, Any]) -> None:
    assert arguments(request_text, entry) == args
