"""Values that a request states once for several steps: the repository, the table, the thing that is meant."""

from __future__ import annotations

from typing import Any

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner import test_lexical_plans as lexical
from tests.helmdeck_planner.test_lexical_plans import LIST_OF_TEXT, NUMBER, TEXT, tool

Steps = list[tuple[str, dict[str, Any]]]

DOCK = {**TEXT, "description": "Id of the dock"}
CHANNEL = {**TEXT, "description": "Id of the channel"}
BERTH = {**TEXT, "description": "Id of the berth"}
VAULT = read_catalog(
    {
        "tools": [
            tool(
                "stage_files", "Stage files.", "repo_path files", is_read_only=False, repo_path=TEXT, files=LIST_OF_TEXT
            ),
            tool(
                "commit",
                "Commit what is staged.",
                "repo_path message",
                is_read_only=False,
                repo_path=TEXT,
                message=TEXT,
            ),
            tool(
                "create_branch",
                "Create a branch.",
                "repo_path branch_name",
                is_read_only=False,
                repo_path=TEXT,
                branch_name=TEXT,
            ),
            tool(
                "switch_branch",
                "Switch to a branch.",
                "repo_path branch_name",
                is_read_only=False,
                repo_path=TEXT,
                branch_name=TEXT,
            ),
            tool("get_status", "Get the status of the working tree.", "repo_path", is_read_only=True, repo_path=TEXT),
            tool(
                "get_thread",
                "Get the replies to a radio message.",
                "channel_id thread_ts",
                is_read_only=True,
                channel_id=CHANNEL,
                thread_ts={**TEXT, "description": "The timestamp of the first message"},
            ),
            tool(
                "get_messages",
                "Get the latest radio messages of a channel.",
                "channel_id",
                is_read_only=True,
                channel_id=CHANNEL,
                limit=NUMBER,
            ),
            tool(
                "post_message",
                "Post a radio message to a channel.",
                "channel_id text",
                is_read_only=False,
                channel_id=CHANNEL,
                text=TEXT,
            ),
            tool(
                "mark_message",
                "Put a flag on a radio message.",
                "channel_id timestamp flag",
                is_read_only=False,
                channel_id=CHANNEL,
                timestamp={**TEXT, "description": "The timestamp of the message"},
                flag={**TEXT, "description": "The name of the flag"},
            ),
            tool(
                "read_text_file",
                "Read the contents of a text file. Use 'tail' for the last lines of it.",
                "path",
                path={**TEXT, "description": "Path of the file"},
                tail={**NUMBER, "description": "If provided, returns only the last N lines of the file"},
            ),
            tool("list_docks", "List all docks.", is_read_only=True),
            tool("get_berth", "Get a berth.", "dock_id berth_id", is_read_only=True, dock_id=DOCK, berth_id=BERTH),
            tool(
                "delete_berth", "Delete a berth.", "dock_id berth_id", is_read_only=False, dock_id=DOCK, berth_id=BERTH
            ),
        ]
    },
    "vault",
)
SEA = "/home/ada/sea"


def steps(request: str) -> Steps:
    return lexical.plan(request, VAULT)


@each_case(
    ("request_text", "expected"),
    [
        (
            f'In {SEA} stage log/a.txt and log/b.txt and commit them as "Two logs"',
            [
                ("stage_files", {"repo_path": SEA, "files": ["log/a.txt", "log/b.txt"]}),
                ("commit", {"repo_path": SEA, "message": "Two logs"}),
            ],
        ),
        (
            f"in {SEA}: make a branch called tide-table, switch to it, and show the status",
            [
                ("create_branch", {"repo_path": SEA, "branch_name": "tide-table"}),
                ("switch_branch", {"repo_path": SEA, "branch_name": "tide-table"}),
                ("get_status", {"repo_path": SEA}),
            ],
        ),
        (
            f"log/a.txt and log/b.txt should go into the next commit, so stage them. The repo is {SEA}.",
            [("stage_files", {"repo_path": SEA, "files": ["log/a.txt", "log/b.txt"]})],
        ),
    ],
)
def test_a_repository_that_is_stated_once_is_that_of_all_steps(request_text: str, expected: Steps) -> None:
    assert steps(request_text) == expected


def test_a_second_repository_replaces_the_first_one() -> None:
    request = f"show the status of {SEA}, then show the status of /home/ada/land"
    assert steps(request) == [("get_status", {"repo_path": SEA}), ("get_status", {"repo_path": "/home/ada/land"})]


@each_case(
    "request_text",
    [
        "dock dck41, berth brtNorth: get it",
        "In dock dck41, berth brtNorth, what does the berth look like? Get it, please.",
    ],
)
def test_labels_and_ids_alone_are_no_step(request_text: str) -> None:
    assert all(name in ("get_berth", UNKNOWN_TOOL) for name, _ in steps(request_text))


def test_ids_with_labels_are_those_of_all_acts() -> None:
    request = "dock dck41, berth brt7: get the berth and delete the berth"
    args = {"dock_id": "dck41", "berth_id": "brt7"}
    assert steps(request) == [("get_berth", args), ("delete_berth", args)]


def test_the_same_message_is_the_one_whose_replies_are_read() -> None:
    request = (
        'What are the replies to thread 1722000111.000700 of C0TUG11? And put the flag "red" on that same message.'
    )
    assert steps(request) == [
        ("get_thread", {"channel_id": "C0TUG11", "thread_ts": "1722000111.000700"}),
        ("mark_message", {"channel_id": "C0TUG11", "timestamp": "1722000111.000700", "flag": "red"}),
    ]


def test_a_thing_behind_plus_is_a_step_and_has_the_same_channel() -> None:
    request = 'the latest 20 messages of C0TUG11, plus a "red" flag on message 1722000111.000700 in the same channel'
    assert steps(request) == [
        ("get_messages", {"channel_id": "C0TUG11", "limit": 20}),
        ("mark_message", {"channel_id": "C0TUG11", "timestamp": "1722000111.000700", "flag": "red"}),
    ]


def test_a_verb_before_there_and_a_text_is_a_step() -> None:
    request = 'put the flag "red" on 1722000111.000700 in C0TUG11 and post there "all clear"'
    assert steps(request) == [
        ("mark_message", {"channel_id": "C0TUG11", "timestamp": "1722000111.000700", "flag": "red"}),
        ("post_message", {"channel_id": "C0TUG11", "text": "all clear"}),
    ]


def test_plus_adds_to_the_list_of_a_command() -> None:
    assert steps(f"stage a.txt, plus b.txt in {SEA}") == [
        ("stage_files", {"repo_path": SEA, "files": ["a.txt", "b.txt"]})
    ]


def test_a_count_of_that_is_of_the_file_beside_it() -> None:
    request = "read me logs/a.txt. And the tail of logs/b.txt, 60 lines of that."
    reads = steps(request)
    assert [args["path"] for _, args in reads] == ["logs/a.txt", "logs/b.txt"]
    assert ["tail" in args for _, args in reads] == [False, True]
