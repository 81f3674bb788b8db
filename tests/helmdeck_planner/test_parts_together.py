"""Parts of a request that belong together: facts beside acts, texts behind a colon, remarks, two acts at one joint."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner import test_lexical_servers as servers
from tests.helmdeck_planner.test_lexical_plans import LIST_OF_TEXT, NUMBER, TEXT, plan, read, tool


def test_all_behind_the_colon_of_an_act_that_lacks_a_text_is_its_text() -> None:
    sent = {"crew": "Gull", "text": "delete ship S-100"}
    assert plan("send a message to crew Gull: delete ship S-100") == [("send_message", sent)]


@pytest.mark.parametrize(
    "request_text",
    ["scrap ship S-100. What a mess", "We ate well. Scrap ship S-100"],
)
def test_a_remark_beside_a_step_is_no_gap(request_text: str) -> None:
    assert plan(request_text) == [("delete_ship", {"ship_id": "S-100"})]


@each_case(
    ("request_text", "expected"),
    [
        ("ship S-100 leaks, paint the pier", [(UNKNOWN_TOOL, {})]),
        ("S-100 is stuck. Give it to Ada", [(UNKNOWN_TOOL, {})]),
        ("S-100 leaks badly, ask Ada about it", [(UNKNOWN_TOOL, {})]),
    ],
)
def test_a_hint_beside_another_act_deletes_nothing(
    request_text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert [step for step in plan(request_text) if step not in expected] == []


def test_an_act_without_a_value_beside_a_step_is_reported() -> None:
    assert plan("S-100 is sold, delete it, and send flowers to the captain") == [
        ("delete_ship", {"ship_id": "S-100"}),
        (UNKNOWN_TOOL, {}),
    ]


def test_a_title_and_the_name_behind_it_are_one_part() -> None:
    assert [part.text for part in read("ask Dr. Ruiz about ship S-100").parts] == ["ask Dr. Ruiz about ship S-100"]


@pytest.mark.parametrize("request_text", ["which ships are not moored", "which ships haven't been moored yet"])
def test_a_negated_participle_is_the_opposite_that_the_catalog_has(request_text: str) -> None:
    catalog = read_catalog(
        {
            "tools": [
                tool("list_moored_ships", "List the moored ships.", is_read_only=True),
                tool("list_unmoored_ships", "List the unmoored ships.", is_read_only=True),
            ]
        },
        "test",
    )
    assert plan(request_text, catalog) == [("list_unmoored_ships", {})]


@each_case(
    ("request_text", "arguments"),
    [
        ("scale checkout to 5 replicas and cart to 3", [("checkout", 5), ("cart", 3)]),
        ("scale web to 4 replicas, api to 2 and worker to 1", [("web", 4), ("api", 2), ("worker", 1)]),
    ],
)
def test_a_further_object_with_a_value_has_a_step_of_the_same_verb(
    request_text: str, arguments: list[tuple[str, int]]
) -> None:
    assert servers.plan("kubernetes", request_text) == [
        ("kubectl_scale", {"name": name, "replicas": count}) for name, count in arguments
    ]


@pytest.mark.parametrize("lead", ["run this for me", "here's the query"])
def test_a_statement_behind_a_colon_belongs_to_the_act_before_it(lead: str) -> None:
    assert plan(f"{lead}: SELECT name FROM ships ORDER BY name") == [
        ("query_registry", {"sql": "SELECT name FROM ships ORDER BY name"})
    ]


def test_a_stated_query_counts_anything() -> None:
    assert servers.plan("postgres", "how many rows has users: SELECT count(*) FROM users") == [
        ("query", {"sql": "SELECT count(*) FROM users"})
    ]


PATH = {**TEXT, "description": "Path of the repository"}
FILES = read_catalog(
    {
        "tools": [
            tool("list_directory", "List the files of a directory.", "path", is_read_only=True, path=TEXT),
            tool("list_directory_with_sizes", "List the files of a directory with how large each is.", "path",
                 is_read_only=True, path=TEXT),
            tool("read_files", "Read several files at once.", "paths", is_read_only=True, paths=LIST_OF_TEXT),
            tool("upload_file", "Give a file to the open file chooser.", "path", path=TEXT),
            tool("clean_cache", "Clean the cache."),
        ]
    },
    "test",
)  # fmt: skip


def test_a_command_about_it_means_the_thing_of_the_fact_before_it() -> None:
    assert plan("The file chooser is waiting. Give it /data/lease.pdf", FILES) == [
        ("upload_file", {"path": "/data/lease.pdf"})
    ]


@each_case(
    ("request_text", "expected"),
    [
        ("I want to compare a.txt and b.txt, so show me both", [("read_files", {"paths": ["a.txt", "b.txt"]})]),
        ("we want to move house, list the files in /srv/", [("list_directory", {"path": "/srv/"})]),
        ("our users can't log in, list the files in /srv/", [("list_directory", {"path": "/srv/"})]),
        ("shoppers keep losing their basket, so list the files in /srv/", [("list_directory", {"path": "/srv/"})]),
        ("before we leave on Friday: list the files in /srv/", [("list_directory", {"path": "/srv/"})]),
        ("two colleagues are waiting for it: list what is in /srv/", [("list_directory", {"path": "/srv/"})]),
        (
            "I want to order 20 chairs and list the files in /srv/",
            [(UNKNOWN_TOOL, {}), ("list_directory", {"path": "/srv/"})],
        ),
    ],
)
def test_a_purpose_or_a_fact_before_a_step_is_no_gap(
    request_text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert plan(request_text, FILES) == expected


def test_two_questions_have_the_step_that_answers_both() -> None:
    assert plan("What is in /data/exports and how large is each file?", FILES) == [
        ("list_directory_with_sizes", {"path": "/data/exports"})
    ]


@each_case(
    ("server", "request_text", "expected"),
    [
        (
            "linear",
            'for the team Mobile, open an issue titled "Crash"',
            ("create_issue", {"title": "Crash", "team": "Mobile"}),
        ),
        (
            "airtable",
            'in base appX1, table tblY2, search for "Moss"',
            ("search_records", {"baseId": "appX1", "tableId": "tblY2", "searchTerm": "Moss"}),
        ),
    ],
)
def test_words_before_a_command_say_what_it_is_about(
    server: str, request_text: str, expected: tuple[str, dict[str, Any]]
) -> None:
    assert servers.plan(server, request_text) == [expected]


@each_case(
    ("server", "request_text", "expected"),
    [
        ("docker", "fetch the last 20 log lines of web-1 and those of web-2",
         [("fetch_container_logs", {"container_id": name, "tail": 20}) for name in ("web-1", "web-2")]),
        ("home", "get the state of light.hall and that of light.cellar",
         [("get_state", {"entity_id": name}) for name in ("light.hall", "light.cellar")]),
        ("todoist", 'add a task "Buy milk" and another called "Buy eggs"',
         [("create_task", {"content": name}) for name in ("Buy milk", "Buy eggs")]),
    ],
)  # fmt: skip
def test_a_pronoun_with_another_value_repeats_the_step(
    server: str, request_text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert servers.plan(server, request_text) == expected


def test_its_is_what_a_step_moved_where_it_now_is() -> None:
    catalog = read_catalog(
        {
            "tools": [
                tool("move_file", "Move or rename a file.", "source destination", source=TEXT, destination=TEXT),
                tool("read_file", "Read a file.", "path", is_read_only=True, path=TEXT, head=NUMBER),
            ]
        },
        "test",
    )
    assert plan("rename a.txt to b.txt and read its first 3 lines", catalog)[1] == (
        "read_file",
        {"path": "b.txt", "head": 3},
    )


def test_a_noun_before_is_names_the_thing_of_the_next_command() -> None:
    assert servers.plan("kubernetes", "Checkout is overloaded. Scale it to 6 replicas") == [
        ("kubectl_scale", {"name": "checkout", "replicas": 6})
    ]


def test_a_verb_that_may_be_a_noun_requests_something_else_behind_a_value() -> None:
    assert servers.plan("docker", "stop container web-7 and order pizza for six") == [
        ("stop_container", {"container_id": "web-7"}),
        (UNKNOWN_TOOL, {}),
    ]


@pytest.mark.parametrize("reason", ["it has been spamming us since noon", "we can't reach it", "there is no need"])
def test_a_reason_behind_the_comma_of_a_command_is_no_part_of_it(reason: str) -> None:
    assert servers.plan("workflows", f"switch off workflow wf_1189, {reason}") == [
        ("deactivate_workflow", {"id": "wf_1189"})
    ]


def test_a_purpose_states_the_folder_of_the_steps_behind_it() -> None:
    catalog = read_catalog(
        {
            "tools": [
                tool(
                    "create_branch", "Create a branch in a repository.", "repo_path branch", repo_path=PATH, branch=TEXT
                ),
                tool(
                    "switch_branch", "Switch a repository to a branch.", "repo_path branch", repo_path=PATH, branch=TEXT
                ),
            ]
        },
        "test",
    )
    request_text = "I want to try a layout in /srv/book: create the branch two-columns and switch to it"
    repo = {"repo_path": "/srv/book", "branch": "two-columns"}
    assert plan(request_text, catalog) == [("create_branch", repo), ("switch_branch", repo)]


@pytest.mark.parametrize("folder", ["repos/shop", "/srv/shop"])
def test_the_first_words_say_where_all_commands_behind_them_act(folder: str) -> None:
    catalog = read_catalog(
        {
            "tools": [
                tool("stage_files", "Stage files.", "repo_path files", repo_path=PATH, files=LIST_OF_TEXT),
                tool("commit", "Commit the staged files.", "repo_path message", repo_path=PATH, message=TEXT),
            ]
        },
        "test",
    )
    assert plan(f'In {folder} stage src/a.py and commit it with the message "Fix a"', catalog) == [
        ("stage_files", {"repo_path": folder, "files": ["src/a.py"]}),
        ("commit", {"repo_path": folder, "message": "Fix a"}),
    ]


@each_case(
    ("request_text", "step"),
    [
        ("make the folder /srv/in and move /tmp/a.pdf into it", ("move_file", {"source": "/tmp/a.pdf", "destination": "/srv/in/a.pdf"})),
        ("make the folder /srv/in and move /tmp/a.pdf there", ("move_file", {"source": "/tmp/a.pdf", "destination": "/srv/in/a.pdf"})),
        ("make the folder /srv/in, then write 'hi' to a.txt in it", ("write_file", {"path": "/srv/in/a.txt", "content": "hi"})),
        ("make the folder /srv/in, then write 'hi' to /tmp/a.txt", ("write_file", {"path": "/tmp/a.txt", "content": "hi"})),
    ],
)  # fmt: skip
def test_a_step_puts_its_file_into_the_folder_that_the_step_before_makes(
    request_text: str, step: tuple[str, dict[str, Any]]
) -> None:
    tools = [
        tool("make_directory", "Make a directory.", "path", path=PATH),
        tool("move_file", "Move a file.", "source destination", source=PATH, destination=PATH),
        tool("write_file", "Write a file.", "path content", path=PATH, content=TEXT),
    ]
    found = plan(request_text, read_catalog({"tools": tools}, "test"))
    assert found == [("make_directory", {"path": "/srv/in"}), step]
