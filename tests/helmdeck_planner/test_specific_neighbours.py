"""The entry of a part among close neighbours: states, statements of SQL, kinds of things."""

from __future__ import annotations

from typing import Any

from helmdeck_core import UNKNOWN_TOOL, Catalog
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner.test_lexical_plans import plan

TEXT = {"type": "string"}
NUMBER = {"type": "number"}


def tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "inputSchema": schema}


def catalog(*tools: dict[str, Any]) -> Catalog:
    return read_catalog({"tools": list(tools)}, "neighbours")


DATABASE = catalog(
    tool("read_query", "Execute a SELECT query on the database", query={**TEXT, "description": "SELECT SQL query"}),
    tool("write_query", "Execute an INSERT, UPDATE, or DELETE query", query={**TEXT, "description": "SQL query"}),
    tool("create_table", "Create a new table in the database", query={**TEXT, "description": "CREATE TABLE SQL"}),
)
MAIL = catalog(
    tool("list_messages_read", "List the messages that were read", folder=TEXT),
    tool("list_messages_unread", "List the messages that are unread", folder=TEXT),
)
NUMBERS = catalog(tool("get_sum", "Returns the sum of two numbers", a=NUMBER, b=NUMBER))


def chosen(request_text: str, entries: Catalog) -> list[str]:
    return [name for name, _ in plan(request_text, entries)]


@each_case(
    ("statement", "name"),
    [
        ("SELECT id FROM crews WHERE size > 3", "read_query"),
        ("UPDATE crews SET size = 4 WHERE id = 2", "write_query"),
        ("CREATE TABLE crews (id INTEGER, name TEXT)", "create_table"),
    ],
)
def test_a_statement_is_run_by_the_entry_whose_texts_name_it(statement: str, name: str) -> None:
    assert chosen(f"run {statement}", DATABASE) == [name]


def test_a_negated_state_is_its_opposite() -> None:
    assert chosen("list the messages in /inbox that are not read", MAIL) == ["list_messages_unread"]
    assert chosen("list the messages in /inbox that are read", MAIL) == ["list_messages_read"]


def test_an_entry_of_another_kind_serves_no_part() -> None:
    assert chosen("what is 84 multiplied by 19?", NUMBERS) == [UNKNOWN_TOOL]
    assert chosen("what is the sum of 84 and 19?", NUMBERS) == ["get_sum"]


FOLDERS = catalog(
    tool("list_folder_sizes", "List the entries of a folder with their sizes", path=TEXT),
    tool("get_file_details", "Get the size and other details of a file", path=TEXT),
)


@each_case(
    ("request_text", "name"),
    [
        ("tell me the size of /srv/tide/may.csv", "get_file_details"),
        ("give me the size of /srv/tide/may.csv", "get_file_details"),
        ("list the sizes in the folder /srv/tide/old.d", "list_folder_sizes"),
    ],
)
def test_the_size_of_one_file_comes_from_no_entry_of_a_folder(request_text: str, name: str) -> None:
    assert chosen(request_text, FOLDERS) == [name]


GATES = catalog(
    tool("lock_gate", "Lock a gate", gate={**TEXT, "description": "Id of the gate"}),
    tool("get_gate", "Get the state of a gate", gate={**TEXT, "description": "Id of the gate"}),
)


@each_case(
    ("request_text", "is_locked"),
    [
        ("did I lock it? it's gate.north, just tell me", False),
        ("is it locked? it's gate.north, just tell me", False),
        ("lock gate.north", True),
    ],
)
def test_a_question_before_a_statement_changes_nothing(request_text: str, *, is_locked: bool) -> None:
    assert ("lock_gate" in chosen(request_text, GATES)) == is_locked
