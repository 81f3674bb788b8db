"""Titles and texts without quotation marks, names of people, new paths, and what other sentences say about a step."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, arguments, described, plan, tool

NAMES: dict[str, Any] = {"type": "array", "items": TEXT}
SHELF = tool("add_shelf", name=described("Name of the new shelf"))
CHORE = tool("create_reminder", {"due_date": described("Day as YYYY-MM-DD")}, title=TEXT)
COMMENT = tool("add_comment", parcel_id=TEXT, text=described("Text of the comment"))
TICKET = tool("create_ticket", {"assignees": NAMES, "labels": NAMES}, title=TEXT)
MEMBER = tool("add_member", {"email": TEXT}, first_name=TEXT, last_name=TEXT)
GARDENER = tool("assign_gardener", plot_id=TEXT, gardener=described("Name of the gardener"))
PLAY = tool("add_costume", {"lender": described("Who lends it")}, name=described("Name of the costume"))
MOVE = tool("move_file", source=described("Path of the file"), destination=described("New path of the file"))
EDIT = tool(
    "edit_file",
    {"dryRun": {"type": "boolean", "description": "Preview changes"}},
    path=TEXT,
    old_text=TEXT,
    new_text=TEXT,
)
STAGE = tool("add_files", repo_path=described("Path of the repository"), files=described("Files to add", NAMES))
TREE = tool("search_tree", {"excludePatterns": NAMES}, path=TEXT)
WRITE = tool("write_file", path=TEXT, content=TEXT)
FILMS = tool("search_titles", {"kind": {"enum": ["film", "series"]}}, query=described("What to search for"))
MANUAL = tool("query_manual", query=described("What to look up in the manual"))
STALLS = tool("find_stalls", query=described("Kind of stall"), location=described("Where to search"))
DATABASE = tool("describe_table", table_name=described("Name of the table"))
QUERY = tool("read_query", sql=described("SQL statement"))
PACKAGE = tool("find_library", library_name=described("Name of the library"))
GATE = tool("list_visits", {"hut": described("Only this hut")}, day=described("Day as YYYY-MM-DD"))
ITEM = {**tool("create_item", title=TEXT), "description": "Add a task to the list."}
POST = tool("post_message", channel_id=TEXT, text=described("Text of the message"))
LIMIT = tool("set_budget", category=described("Category"), amount=NUMBER)
PROFILE = tool("get_profile", user_id=described("Id of the user"))
FLIGHT = tool("search_ferries", origin=described("Port of departure"), destination=described("Port of arrival"))


@each_case(
    ("entry", "request_text", "args"),
    [
        (SHELF, "we need one more shelf: Waiting for glaze", {"name": "Waiting for glaze"}),
        (SHELF, "add a shelf: Bisque", {"name": "Bisque"}),
        (CHORE, "new reminder: Sand the oars, due 2031-05-02", {"title": "Sand the oars", "due_date": "2031-05-02"}),
        (CHORE, "remind me on my list to sand the oars", {"title": "sand the oars"}),
        (COMMENT, "add a comment to parcel P-778812 saying Waiting for customs", {"parcel_id": "P-778812", "text": "Waiting for customs"}),
        (COMMENT, "add a comment to parcel P-778812 with the words Held until noon", {"parcel_id": "P-778812", "text": "Held until noon"}),
        (COMMENT, "add a comment to parcel P-778812 saying what is new", {"parcel_id": "P-778812"}),
    ],
)  # fmt: skip
def test_a_title_or_text_without_quotation_marks_is_read_as_a_whole(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (TICKET, 'create a ticket titled "Leaky valve". Tags pump and cellar, and it should go to mirkov',
         {"title": "Leaky valve", "assignees": ["mirkov"], "labels": ["pump", "cellar"]}),
        (TICKET, 'create a ticket titled "Leaky valve", tagged pump and cellar', {"title": "Leaky valve", "labels": ["pump", "cellar"]}),
        (MEMBER, "add the member Joris van den Bosch, joris@pond.example",
         {"email": "joris@pond.example", "first_name": "Joris", "last_name": "van den Bosch"}),
        (MEMBER, "Mia Lund stood at the desk. Please add her as a member, her mail is mia.lund@pond.example",
         {"email": "mia.lund@pond.example", "first_name": "Mia", "last_name": "Lund"}),
        (GARDENER, "Olga Brandt waters plot PL-33", {"plot_id": "PL-33", "gardener": "Olga Brandt"}),
        (PLAY, "add a costume for scene four, Mrs Hollis lends it", {"lender": "Mrs Hollis"}),
    ],
)  # fmt: skip
def test_people_are_named_without_the_words_around_them(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (MOVE, "rename /srv/logs/pump.txt to pump_old.txt", {"source": "/srv/logs/pump.txt", "destination": "/srv/logs/pump_old.txt"}),
        (MOVE, "rename /srv/a.txt, it should be /srv/b.txt", {"source": "/srv/a.txt", "destination": "/srv/b.txt"}),
        (MOVE, "move /srv/logs/pump.txt to /mnt/pump.txt", {"source": "/srv/logs/pump.txt", "destination": "/mnt/pump.txt"}),
        (STAGE, "In /srv/garden add beds/north.plan and beds/south.plan",
         {"repo_path": "/srv/garden", "files": ["beds/north.plan", "beds/south.plan"]}),
        (EDIT, "in /srv/pump.ini swap rate=4 for rate=7. Only as a preview", {
            "dryRun": True, "path": "/srv/pump.ini", "old_text": "rate=4", "new_text": "rate=7",
        }),
        (TREE, "search the tree /srv/garden. The folder compost can be skipped", {"path": "/srv/garden", "excludePatterns": ["compost"]}),
    ],
)  # fmt: skip
def test_paths_keep_their_folders_and_their_sides(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_there_is_the_folder_of_the_file_that_the_step_before_changes() -> None:
    steps = plan(
        "rename /srv/logs/pump.txt to old.txt and write a file pump.txt there that says: empty until noon", MOVE, WRITE
    )
    assert steps[-1]["args"] == {"path": "/srv/logs/pump.txt", "content": "empty until noon"}


@each_case(
    ("entry", "request_text", "args"),
    [
        (FILMS, "is the film Songs for Winter on there?", {"query": "Songs for Winter", "kind": "film"}),
        (FILMS, "there's a film called Cold Harbour Lights that a guest praised. Can you find it?",
         {"query": "Cold Harbour Lights", "kind": "film"}),
        (MANUAL, "look in the manual how to bleed the radiator", {"query": "how to bleed the radiator"}),
        (STALLS, "my aunt keeps asking for a stall of vegan cheese close to Old Pier", {"query": "vegan cheese", "location": "Old Pier"}),
        (DATABASE, "how is the table called harvests built?", {"table_name": "harvests"}),
        (QUERY, "SELECT bed, SUM(kg) FROM harvests GROUP BY bed -- what is in it?", {"sql": "SELECT bed, SUM(kg) FROM harvests GROUP BY bed"}),
        (PACKAGE, "find the library for Tone.js first", {"library_name": "Tone.js"}),
    ],
)  # fmt: skip
def test_what_is_searched_for_is_neither_cut_nor_padded(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (GATE, "list the visits of 2031-04-14; the other huts don't matter", {"day": "2031-04-14"}),
        (PROFILE, "who on earth is U77KLM9Q? I need their profile", {"user_id": "U77KLM9Q"}),
        (FLIGHT, "Kiel to Oslo, they don't know the day yet. Look for ferries anyway", {"origin": "Kiel", "destination": "Oslo"}),
    ],
)  # fmt: skip
def test_a_sentence_beside_a_step_states_what_it_is_about_and_nothing_else(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (POST, "tell C07PIER99 the crane is back", {"channel_id": "C07PIER99", "text": "the crane is back"}),
        (POST, "let C07PIER99 know we're open", {"channel_id": "C07PIER99", "text": "we're open"}),
        (ITEM, "add oil the winch to my list", {"title": "oil the winch"}),
        (LIMIT, "set the groceries budget to 300", {"category": "groceries", "amount": 300}),
        (LIMIT, "set the monthly budget to 300", {"amount": 300}),
    ],
)  # fmt: skip
def test_a_text_or_category_is_read_from_its_place_in_the_sentence(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_a_title_of_another_sentence_is_no_second_text() -> None:
    bug = tool("report_bug", {"body": TEXT, "assignees": NAMES}, title=TEXT)
    request = 'Could you report a bug? The title should be "Winch stuck", and it goes to mirkov.'
    assert arguments(request, bug) == {"title": "Winch stuck", "assignees": ["mirkov"]}
