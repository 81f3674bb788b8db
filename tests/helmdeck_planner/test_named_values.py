"""Values that a verb or a word beside them names: lists, choices, switches, contents, names of results, commands."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_language import Kind, scan
from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, tool

NAMES = {"type": "array", "items": TEXT}
UPDATE = tool(
    "update_issue",
    {"title": TEXT, "body": TEXT, "labels": NAMES, "assignees": NAMES, "state": {"enum": ["open", "closed"]}},
    issue_number=NUMBER,
)
MERGE = tool("merge_pull_request", {"merge_method": {"enum": ["merge", "squash", "rebase"]}}, pull_number=NUMBER)
ISSUES = tool("list_issues", {"state": {"enum": ["open", "closed", "all"]}, "sort": {"enum": ["created", "updated"]}})
DELETE = tool("delete_entities", entity_names=described("Names of the entities", NAMES))
SELECT = tool(
    "select_option",
    target=described("Element reference or a unique element selector"),
    values=described("Values", NAMES),
)
TYPE = tool(
    "type_text",
    {"submit": described("Whether to submit the text", SWITCH)},
    target=described("Element reference or a unique element selector"),
    text=described("Text to type"),
)
REQUESTS = tool(
    "list_network_requests",
    {
        "filter": described("Only requests whose URL matches this"),
        "filename": described("File name to save the list to"),
    },
)
GZIP = tool(
    "compress_file",
    {"name": described("Name of the output file")},
    url=described("URL of the file", {**TEXT, "format": "uri"}),
)
WRITE = tool("write_file", path=TEXT, content=TEXT)
MOVE = tool("move_file", source=TEXT, destination=TEXT)
SEARCH = tool("search_files", path=TEXT, pattern=described("Glob pattern of the files"))
RUN = tool("execute_command", {"timeout_ms": described("Timeout in milliseconds", NUMBER)}, command=TEXT)
THOUGHT = tool(
    "record_thought", {"needs_more_thoughts": SWITCH}, thought=TEXT, next_thought_needed=SWITCH, thought_number=NUMBER
)
GET = tool("get_resources", {"name": TEXT}, resource_type=described("Type of resource (e.g., pods, services)"))
EVALUATE = tool("evaluate_script", function=described("() => { /* code */ }"))
COMMENT = tool("add_comment", issue_number=NUMBER, comment=described("Text of the comment"))
LIBRARY = tool("resolve_library_id", query=described("What to look up"), library_name=described("Name of the library"))
PAGES = tool("find_pages", {"query": described("Text to search for")})
ASSIGN = tool("update_task", {"state": TEXT, "assignee": described("User ID, name or email")}, id=TEXT)
PROJECT = tool("pause_project", project_id=described("ID of the project"))
DAY = {**TEXT, "format": "date"}
SLOTS = tool("find_free_slots", start_date=DAY, end_date=DAY)
RECORD = tool("create_record", type={"enum": ["A", "TXT"]}, value=described("IP address or network"))
REMOTE = tool(
    "list_branches",
    {"contains": described("The commit sha to look for"), "not_contains": described("The commit sha to leave out")},
)
MONITOR = tool("get_lock_state", entity_id=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (UPDATE, "tag issue 47 with perf and backend", {"issue_number": 47, "labels": ["perf", "backend"]}),
        (UPDATE, "assign issue 48 to rkaur and lwang", {"issue_number": 48, "assignees": ["rkaur", "lwang"]}),
        (UPDATE, "shut issue 93", {"issue_number": 93, "state": "closed"}),
        (UPDATE, "rename issue 9 to 'Tabs overflow'", {"issue_number": 9, "title": "Tabs overflow"}),
        (MERGE, "squash pull request 418", {"pull_number": 418, "merge_method": "squash"}),
        (ISSUES, "list the issues that were updated since 2025-03-01", {}),
        (DELETE, "delete the entities legacy-ftp and scanner-2", {"entity_names": ["legacy-ftp", "scanner-2"]}),
        (DELETE, "delete printer-7, printer-8 and printer-9", {"entity_names": ["printer-7", "printer-8", "printer-9"]}),
        (SELECT, "select Austria in #country", {"target": "#country", "values": ["Austria"]}),
        (SELECT, "select red and blue in e40", {"target": "e40", "values": ["red", "blue"]}),
        (SELECT, "select the option Express in e4", {"target": "e4", "values": ["Express"]}),
        (TYPE, "type Lisbon into e14 with Enter", {"target": "e14", "text": "Lisbon", "submit": True}),
        (REQUESTS, "list the network requests with /api/orders in their address", {"filter": "/api/orders"}),
        (REQUESTS, "list the network requests in log.txt", {"filename": "log.txt"}),
        (GZIP, "compress https://example.org/b.txt into b.txt.gz", {"url": "https://example.org/b.txt", "name": "b.txt.gz"}),
        (WRITE, "write webapp/.nvmrc with nothing but 20.11.1 in it", {"path": "webapp/.nvmrc", "content": "20.11.1"}),
        (WRITE, "write the file VERSION.txt with the content 1.0.0", {"path": "VERSION.txt", "content": "1.0.0"}),
        (WRITE, "write a file called VERSION in /srv/app that says '2.1.0'", {"path": "/srv/app/VERSION", "content": "2.1.0"}),
        (UPDATE, "update issue 9: title 'Tabs overflow', labels ui and mobile", {
            "issue_number": 9, "title": "Tabs overflow", "labels": ["ui", "mobile"],
        }),
        (MOVE, "move a.txt from /in to /out", {"source": "/in/a.txt", "destination": "/out/a.txt"}),
        (SEARCH, "search for the .proto files below services/", {"path": "services/", "pattern": "*.proto"}),
        (RUN, "run cargo build --release with a timeout of 90000 ms", {
            "command": "cargo build --release", "timeout_ms": 90000,
        }),
        (THOUGHT, "record thought 2, more to come: 'Prices rose'", {
            "thought": "Prices rose", "thought_number": 2, "next_thought_needed": True,
        }),
        (GET, "get the pods", {"resource_type": "pods"}),
        (EVALUATE, "evaluate () => document.querySelectorAll('a:not([b])').length on the page", {
            "function": "() => document.querySelectorAll('a:not([b])').length",
        }),
        (COMMENT, "add a comment on issue 31 that the fix ships on Friday", {
            "issue_number": 31, "comment": "the fix ships on Friday",
        }),
        (MONITOR, "check whether lock.back_door is locked", {"entity_id": "lock.back_door"}),
    ],
)  # fmt: skip
def test_a_named_value_goes_to_its_input(entry: dict[str, Any], request_text: str, args: dict[str, Any]) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (WRITE, "write a.md with a list of our rooms", {"path": "a.md"}),
        (RUN, "run the tests", {}),
        (SELECT, "select an option in e9", {"target": "e9"}),
        (COMMENT, "add a comment on issue 31 that is open", {"issue_number": 31}),
        (REQUESTS, "list the network requests", {}),
    ],
)
def test_words_that_only_describe_a_value_are_left_out(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@pytest.mark.parametrize(
    "code",
    [
        "() => window.scrollTo(0, 0)",
        "el => el.click()",
        "async () => { await go(); return 1; }",
        "sum(rate(http_requests_total[5m])) by (job)",
        '{app="cart"} |= "panic"',
        'project = WEB AND status = "In Progress"',
        r"/\d+,\d\d EUR/",
    ],
)
def test_code_without_marks_is_one_value(code: str) -> None:
    [found] = [token for token in scan(f"use {code} on e15") if token.kind is Kind.CODE]
    assert found.value == code


@pytest.mark.parametrize(
    "text", ["merge fix => main", "a meeting (with Ada (CEO))", "open /srv/logs/ and /etc/", "f(x)"]
)
def test_words_and_paths_are_not_code(text: str) -> None:
    assert Kind.CODE not in {token.kind for token in scan(text)}


@each_case(
    ("entry", "request_text", "args"),
    [
        (LIBRARY, "which library id does Chart.js have? I want stacked bars.", {"library_name": "Chart.js", "query": "stacked bars"}),
        (LIBRARY, "which library id does lodash have?", {"library_name": "lodash"}),
        (PAGES, "find the pages on opening hours", {"query": "opening hours"}),
        (ASSIGN, "give task PAY-81 to nadia@fern.example", {"id": "PAY-81", "assignee": "nadia@fern.example"}),
        (PROJECT, "pause project nwpyfjco", {"project_id": "nwpyfjco"}),
        (SLOTS, "find free slots between 2 February and 6 February 2026", {"start_date": "2026-02-02", "end_date": "2026-02-06"}),
        (RECORD, "create a TXT record for 203.0.113.0/24", {"type": "TXT", "value": "203.0.113.0/24"}),
        (REMOTE, "list the branches that have 9f3c2ab", {"contains": "9f3c2ab"}),
    ],
)  # fmt: skip
def test_a_value_is_known_by_its_form_and_its_place(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_a_file_before_a_step_is_the_one_that_it_changes() -> None:
    edit = tool("replace_text", path=TEXT, old_text=TEXT, new_text=TEXT)
    request = "In src/a.py, replace 'import os' with 'import sys'"
    assert arguments(request, edit) == {"path": "src/a.py", "old_text": "import os", "new_text": "import sys"}
