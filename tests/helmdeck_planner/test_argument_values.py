"""Values that the embedded planner takes from a request, and those that it leaves open."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from helmdeck_core import Catalog
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import understand
from helmdeck_planner.embedded.steps import steps_of
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from tests.case_support import each_case

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
SWITCH: dict[str, Any] = {"type": "boolean"}


def described(text: str, schema: dict[str, Any] = TEXT) -> dict[str, Any]:
    return {**schema, "description": text}


def tool(name: str, optional: dict[str, Any] | None = None, /, **required: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}
    return {"name": name, "description": f"{name.replace('_', ' ').capitalize()}.", "input_schema": schema}


def plan(request: str, *tools: dict[str, Any]) -> list[dict[str, Any]]:
    catalog = Catalog.from_data({"packs": list(tools)}, "test")
    lexical = LexicalIndex(catalog)
    return steps_of(understand(request, lexical, Profiles(catalog.entries, lexical.lexicon)), {}, ())


def arguments(request: str, *tools: dict[str, Any]) -> Any:
    """Return the arguments of the last step."""
    return plan(request, *tools)[-1]["args"]


ISSUES = tool("search_issues", {"state": {"enum": ["open", "closed"]}, "private": SWITCH}, query=TEXT)
LIST = tool(
    "list_issues", {"since": described("Only issues after this date"), "timeout": described("In seconds", NUMBER)}
)
WEATHER = tool("get_weather", city=TEXT)
TRANSLATE = tool("translate_text", text=TEXT, target_language=TEXT)
MONEY = tool(
    "convert_money", **{"amount": NUMBER, "from": described("Currency code"), "to": described("Currency code")}
)
DOCUMENT = tool("get_document", document_id=TEXT)
ORDER = tool("update_order", {"quantity": NUMBER}, order_id=TEXT)
MAIL = tool("send_email", {"cc": TEXT}, to=TEXT, subject=TEXT)
KEY = tool("press_key", key=described("Name of the key to press"))
RENAME = tool("rename_branch", old_name=TEXT, new_name=TEXT)
SETTING = tool("set_setting", key=TEXT, value=TEXT)
READ = tool("read_file", path=TEXT)
WRITE = tool("write_file", path=TEXT, content=TEXT)
ISSUE = tool("create_issue", {"assignee": TEXT, "labels": {"type": "array", "items": TEXT}}, title=TEXT)
CONTACT = tool("find_contact", name=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        # A word of the topic is no choice and no switch.
        (ISSUES, "search issues about open source licensing", {"query": "open source licensing"}),
        (ISSUES, "search for closed issues about login", {"query": "login", "state": "closed"}),
        (ISSUES, "find open issues about private keys", {"query": "private keys", "state": "open"}),
        # A date of the other end of a range, and a duration that is no timeout.
        (LIST, "list issues until 2024-05-05", {}),
        (LIST, "list issues since 2024-05-05", {"since": "2024-05-05"}),
        (LIST, "list issues of the last 24 hours", {}),
        (LIST, "list issues with a timeout of 2 minutes", {"timeout": 120}),
        # Words in lower case that name no place and no language.
        (WEATHER, "get the weather for my mom", {}),
        (WEATHER, "what is the weather in detail", {}),
        (WEATHER, "get the weather for the trip to Rome", {"city": "Rome"}),
        (WEATHER, "get the weather in oslo", {"city": "oslo"}),
        (TRANSLATE, "translate 'hi' in my document", {"text": "hi"}),
        (TRANSLATE, "translate 'hi' to german", {"text": "hi", "target_language": "german"}),
        # Capitals are no currency and no id by themselves.
        (MONEY, "convert the PDF amount 5 to EUR", {"amount": 5, "to": "EUR"}),
        (DOCUMENT, "get the PDF document", {}),
        (DOCUMENT, "get the 3-day document", {}),
        (ORDER, "update the order with 3 apples", {}),
        (MAIL, "send an email to a@x.org and b@x.org with subject 'A'", {"to": "a@x.org", "subject": "A"}),
        (MAIL, "email a@x.org, cc b@x.org, subject 'A'", {"to": "a@x.org", "cc": "b@x.org", "subject": "A"}),
        (KEY, "press the F5 key", {"key": "F5"}),
        (KEY, "press the save key", {}),
        # A name in capitals is whole, and a verb after "to" is not a value.
        (RENAME, "rename Old Name to New Name", {"old_name": "Old Name", "new_name": "New Name"}),
        (SETTING, "set the setting to remember me", {}),
        (READ, "read and/or show the file", {}),
        (READ, "read docs/guide", {"path": "docs/guide"}),
        (ISSUE, "create an issue titled 'A', labels bug, assignee ana", {"title": "A", "labels": ["bug"], "assignee": "ana"}),
        (CONTACT, "find the contact Ada Lovelace's number", {"name": "Ada Lovelace"}),
    ],
)  # fmt: skip
def test_a_word_for_another_purpose_is_not_a_value(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("request_text", "args"),
    [
        ("never overwrite a.txt, just read it", {"path": "a.txt"}),
        ("don't delete a.txt, write 'x' to it", {"content": "x"}),
        ("read a.txt and write a file that contains 'x'", {"content": "x"}),
        ("read a.txt and write 'x' to it", {"path": "a.txt", "content": "x"}),
    ],
)
def test_it_is_an_excluded_value_only_where_nothing_else_is_meant(request_text: str, args: dict[str, Any]) -> None:
    assert arguments(request_text, READ, WRITE) == args


COMMENT = tool("add_comment", task_id=TEXT, text=TEXT)
UPDATE = tool("update_task", {"name": TEXT, "completed": SWITCH}, task_id=TEXT)
ATTACHMENT = tool("download_attachment", attachment_id=TEXT)
ARCHIVE = tool("archive_card", card_id=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (COMMENT, "add a comment 'Done' to the task 'Login'", {"text": "Done"}),
        (UPDATE, "update the task 'Login': completed", {"completed": True}),
        (ATTACHMENT, "download the attachment 'plan.pdf'", {}),
        (ARCHIVE, "archive the card 'Login' in the list 61bc22", {}),
    ],
)
def test_a_quoted_name_of_what_an_id_identifies_fills_neither_a_text_nor_another_id(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


ADD = tool("git_add", repo_path=TEXT, files={"type": "array", "items": TEXT})
COMMIT = tool("git_commit", repo_path=TEXT, message=TEXT)
BRANCH = tool("create_branch", {"from_branch": TEXT}, owner=TEXT, repo=TEXT, branch=TEXT)
PULL = tool(
    "create_pull_request", owner=TEXT, repo=TEXT, title=TEXT, head=TEXT, base=described("The branch to be pulled into")
)
GIT = (ADD, COMMIT)


@each_case(
    ("tools", "request_text", "args"),
    [
        (GIT, "in /srv/app, add a.txt and commit with the message 'x'", [
            {"repo_path": "/srv/app", "files": ["a.txt"]}, {"repo_path": "/srv/app", "message": "x"},
        ]),
        (GIT, "add a.txt in /srv/app and commit with the message 'x'", [
            {"repo_path": "/srv/app", "files": ["a.txt"]}, {"repo_path": "/srv/app", "message": "x"},
        ]),
        (GIT, "add a.txt in /srv/app, add b.txt in /srv/web and commit with the message 'x'", [
            {"repo_path": "/srv/app", "files": ["a.txt"]}, {"repo_path": "/srv/web", "files": ["b.txt"]}, {"message": "x"},
        ]),
        ((BRANCH, PULL), "create a branch fix-1 in acme/web and create a pull request titled 'Fix' from fix-1 into main", [
            {"owner": "acme", "repo": "web", "branch": "fix-1"},
            {"owner": "acme", "repo": "web", "title": "Fix", "head": "fix-1", "base": "main"},
        ]),
    ],
)  # fmt: skip
def test_a_single_folder_or_repository_is_that_of_all_parts(
    tools: tuple[dict[str, Any], ...], request_text: str, args: list[dict[str, Any]]
) -> None:
    assert [step["args"] for step in plan(request_text, *tools)] == args


BOARD = (
    tool("get_lists"),
    tool("get_cards_by_list_id", list_id=described("ID of the list")),
    tool("archive_card", card_id=described("ID of the card")),
)


def test_two_look_ups_find_an_id_that_needs_another_id() -> None:
    steps = plan("archive the card 'Login' in the list Doing", *BOARD)
    assert [(step["tool"], step["args"], step.get("inferred_for")) for step in steps] == [
        ("get_lists", {}, ["list_id"]),
        ("get_cards_by_list_id", {}, ["card_id"]),
        ("archive_card", {}, None),
    ]
    assert steps[0]["rationale"] == "inferred: finds list_id of 'Doing' for get_cards_by_list_id"


@each_case(
    ("request_text", "tools"),
    [
        ("archive the card 'Login'", BOARD),
        ("archive the card 'Login' in the list Doing", (*BOARD, tool("list_lists"))),
        ("archive the card 'Login' in the list Doing", (tool("create_lists"), *BOARD[1:])),
    ],
)
def test_without_a_clear_chain_that_only_reads_nothing_is_looked_up(
    request_text: str, tools: tuple[dict[str, Any], ...]
) -> None:
    assert [step["tool"] for step in plan(request_text, *tools)] == ["archive_card"]


MAKE = tool("create_directory", path=TEXT)


@each_case(
    ("request_text", "args"),
    [
        ("create a directory called backups in /srv", {"path": "/srv/backups"}),
        ("create a directory called backups under /srv/app/", {"path": "/srv/app/backups"}),
    ],
)
def test_a_new_folder_is_named_inside_another(request_text: str, args: dict[str, Any]) -> None:
    assert arguments(request_text, MAKE) == args


def test_the_name_of_a_new_folder_stays_free_if_the_path_is_refused() -> None:
    # A file is no folder.
    create = tool("create_repository", repo_directory=TEXT)
    assert arguments("create a repository called backups in /srv/a.txt", create) == {"repo_directory": "backups"}


@each_case(
    ("schema", "written", "value"),
    [
        (described("Start (HH:MM)"), "9:15", "09:15"),
        (described("Start in 24-hour format"), "2pm", "14:00"),
        (described("Start, e.g. '08:30'"), "half past two pm", "14:30"),
        (described("Start (HH:MM)"), "quarter to 3 in the afternoon", "14:45"),
        (described("Start (HH:MM)"), "noon", "12:00"),
        (described("Start (HH:MM:SS)"), "12:05 am", "00:05:00"),
        (described("Start, such as '2:30 PM'"), "14:05", "2:05 PM"),
        ({**TEXT, "pattern": r"^([01]\d|2[0-3]):[0-5]\d$"}, "7 am", "07:00"),
        ({**TEXT, "format": "time"}, "9 o'clock", "09:00"),
        ({**TEXT, "examples": ["18:00"]}, "5:30pm", "17:30"),
        # Without a stated form, or without a half of the day, a time is as it is written.
        (TEXT, "2pm", "2pm"),
        (TEXT, "9:15", "9:15"),
        (described("Start (HH:MM)"), "half past two", "half past two"),
    ],
)
def test_a_time_has_the_form_that_the_schema_states(schema: dict[str, Any], written: str, value: str) -> None:
    assert arguments(f"set the alarm at {written}", tool("set_alarm", time=schema)) == {"time": value}


def test_two_times_are_the_ends_of_a_range() -> None:
    meeting = tool("create_meeting", start=described("Start (HH:MM)"), end=described("End (HH:MM)"))
    assert arguments("create a meeting from 9:15 to 10", meeting) == {"start": "09:15"}
    assert arguments("create a meeting from 9:15 until noon", meeting) == {"start": "09:15", "end": "12:00"}


URI = {**TEXT, "format": "uri"}
EMAIL = {**TEXT, "format": "email"}
PATTERN = described("The regular expression")
WHOLE = [
    (tool("get_order", order_id=TEXT), "get the order {}", "A-17 ord_9f3c 9f3c2ab1 PROJ-123 v1.2.3 ORD:2024:7".split()),
    (
        tool("fetch_url", url=URI),
        "fetch {}",
        "https://a.example/x?y=1&z=2#f https://a.example/a_(b) http://localhost:80/v1/ ftp://a.example/x,y;z "
        "https://a.example/?q=[a] https://a.example/q?x='y' https://u@a.example/\u00fc".split(),
    ),
    (READ, "read the file {}", "/srv/a.txt ./x/y.tar.gz ~/plan.md C:\\a\\b.txt ../up /etc/hosts src/@types/i.d.ts".split()),
    (tool("invite_user", email=EMAIL), "invite {}", "a@b.example first.last+tag@sub.b.example x_y-z@a-b.co.uk".split()),
    (
        tool("run_sql_query", sql=TEXT),
        "run the SQL query {}",
        ["SELECT a FROM b", "SELECT * FROM t WHERE x = 'a b'", "UPDATE t SET a = 1 WHERE b = 2", "DELETE FROM t WHERE id = 7"],
    ),
    (tool("test_regular_expression", pattern=PATTERN), "test the regular expression `{}`", ["^a+$", r"^\d{3}-[a-z]*$", r"(a|b)\s+\w+"]),
]  # fmt: skip
MARKS = [
    "{}",
    '"{}"',
    "'{}'",
    "`{}`",
    "\u201c{}\u201d",
    "\u2018{}\u2019",
    "\u00ab{}\u00bb",
    "\u201e{}\u201c",
    "({})",
    "[{}]",
]
ENDS = ["", ".", "!", "?", "\u2026", ",", " please", ", please.", " now.", " - thanks", ";", ":", "...", "\n"]
CASES = [(entry, form, value) for entry, form, values in WHOLE for value in values]


@given(st.sampled_from(CASES), st.sampled_from(MARKS), st.sampled_from(ENDS))
@example(CASES[0], "`{}`", "\u2026")
def test_a_value_is_whole_whatever_is_around_it(case: tuple[dict[str, Any], str, str], mark: str, end: str) -> None:
    entry, form, value = case
    if "`" in form or set(mark) & set(value) - set("{}"):
        mark = "{}"
    [name] = entry["input_schema"]["required"]
    assert arguments(form.format(mark.format(value)) + end, entry) == {name: value}
