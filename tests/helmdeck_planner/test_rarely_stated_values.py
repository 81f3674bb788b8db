"""Values in forms that few requests have: one case for each rule that reads such a form."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, plan, tool

NAMES: dict[str, Any] = {"type": "array", "items": TEXT}


def objects(**fields: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": fields, "required": list(fields)}}


SEARCH_FILES = tool("search_files", path=TEXT, pattern=described("Glob pattern of files"))
LINK = tool("link_issues", source_id=described("Issue id"), target_id=described("Issue id"))
COMMAND = tool("run_command", command=described("Command to run"))
CUSTOMER = tool("create_customer", name=described("Full name"), email={"type": "string", "format": "email"})


@each_case(
    ("entry", "request_text", "args"),
    [
        (SEARCH_FILES, "find files ending in .test.ts in /srv", {"path": "/srv", "pattern": "*.test.ts"}),
        (
            tool("list_loans", {"status": described("Status, e.g. overdue, open")}),
            "show me anything overdue",
            {"status": "overdue"},
        ),
        (
            tool("append_insight", insight=described("Business insight")),
            "store the insight that returns rise",
            {"insight": "returns rise"},
        ),
        (LINK, "link OPS-1 to OPS-7", {"source_id": "OPS-1", "target_id": "OPS-7"}),
        (
            tool("play_tracks", track_ids={**NAMES, "description": "Ids of tracks"}),
            "play tracks 4fz, 9qk, and 7ab",
            {"track_ids": ["4fz", "9qk", "7ab"]},
        ),
        (
            tool("create_contacts", contacts=objects(name=TEXT, phone=TEXT)),
            "add the contact Ada, phone 555-0122",
            {"contacts": [{"name": "Ada", "phone": "555-0122"}]},
        ),
        (
            tool("push_files", files=objects(path=TEXT, content=TEXT)),
            "add files 'LICENSE' with 'MIT' and 'a/b.md' with 'x'",
            {"files": [{"path": "LICENSE", "content": "MIT"}, {"path": "a/b.md", "content": "x"}]},
        ),
        (
            CUSTOMER,
            "add Ada Lovelace from Acme, ada@example.org as a customer",
            {"name": "Ada Lovelace", "email": "ada@example.org"},
        ),
        (
            tool("update_shop", {"is_open": SWITCH}, shop_id=TEXT),
            "set is_open to true for shop 7",
            {"shop_id": "7", "is_open": True},
        ),
        (
            tool("list_branches", {"scope": {"enum": ["local", "remote", "all"]}}),
            "list the branches, remote ones included",
            {"scope": "all"},
        ),
        (
            tool("log_run", distance_miles=described("Miles", NUMBER)),
            "run 3 quarters of a mile",
            {"distance_miles": 0.75},
        ),
        (
            tool("post_message", channel=described("Name of the channel"), text=TEXT),
            "let #kitchen know that the oven is hot",
            {"channel": "#kitchen", "text": "the oven is hot"},
        ),
        (COMMAND, "run pytest /srv/app/tests", {"command": "pytest /srv/app/tests"}),
    ],
)
def test_each_rare_form_of_a_value_is_read(entry, request_text, args):
    assert arguments(request_text, entry) == args


def test_find_and_replace_is_one_step():
    edit = tool("edit_file", path=TEXT, old_text=TEXT, new_text=TEXT)
    steps = plan("find and replace 'x' with 'y' in a.txt", edit, tool("find_text", path=TEXT, query=TEXT))
    assert [(step["tool"], step["args"]) for step in steps] == [
        ("edit_file", {"path": "a.txt", "old_text": "x", "new_text": "y"})
    ]
