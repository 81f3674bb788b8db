"""Values of several words without quotation marks: titles, texts, lists of names, places, and patterns."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import EMAIL, NUMBER, TEXT, arguments, described, tool

LIST: dict[str, Any] = {"type": "array", "items": TEXT}
TICKET = tool("create_ticket", {"body": TEXT, "tags": LIST}, title=TEXT, board=described("ID of the board"))
RENAME = tool("update_ticket", {"title": TEXT, "state": TEXT, "reason": TEXT}, ticket_id=TEXT)
REPLY = tool("reply_to_message", message_id=TEXT, text=described("The reply"))
MAIL = tool("send_mail", to=EMAIL, subject=TEXT, body=TEXT)
ALBUM = tool("create_album", name=described("Name of the album"))
FORGET = tool("delete_things", names={**LIST, "description": "Names of the things"})
WRITE = tool("write_file", path=TEXT, content=TEXT)
COMMAND = tool("run_command", command=described("The shell command"))
GREP = tool("search_code", path=TEXT, pattern=described("Text or regular expression"))
REGEX = tool("test_pattern", pattern=described("The regular expression"), text=described("The text to match"))
IMAGE = tool("pull_image", {"tag": described("Image tag")}, repository=described("Image repository"))
CONTAINER = tool("create_container", image=described("Image name"))
NEARBY = tool("find_places", query=described("Kind of place"), location=TEXT)
SPENT = tool("add_expense", {"shop": described("Where it was spent")}, amount=NUMBER)
PURGE = tool("purge_cache", {"files": {**LIST, "description": "URLs to purge"}}, zone_id=TEXT)
SAVE = tool("download_photo", {"save_path": described("Directory to save the photo in")}, photo_id=TEXT)
RELEASES = tool("list_releases", {"query": described("Only versions with this text")}, project_slug=TEXT)
MERGE = tool("merge_branch", {"commit_title": TEXT, "commit_message": TEXT}, branch=TEXT)
SCHEDULE = tool("create_job", cron=TEXT, task=described("Name of the task"))
ROUTE = tool("get_way", origin=TEXT, destination=TEXT)
DOOR = tool("change_door_code", door=described("Id of the door"), code=described("New code"))
LOGS = tool("get_logs", project_id=TEXT)
SCAN = tool("scan_package", package=described("Name of the package"))
MEETING = tool("create_meeting", {"location": TEXT}, title=TEXT)
TREE = tool("show_tree", {"excludePatterns": LIST}, path=TEXT)
TRACKS = tool("add_tracks", track_ids=LIST, list_id=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (RENAME, "rename ticket HB-31 to Lamp in the hall flickers", {"ticket_id": "HB-31", "title": "Lamp in the hall flickers"}),
        (RENAME, "set ticket HB-31 to state On Hold", {"ticket_id": "HB-31", "state": "On Hold"}),
        (RENAME, "update ticket HB-31, reason: the part is late, state: On Hold", {
            "ticket_id": "HB-31", "reason": "the part is late", "state": "On Hold",
        }),
        (REPLY, "reply to message m_881 with: all clear, the boat is back", {"message_id": "m_881", "text": "all clear, the boat is back"}),
        (REPLY, "reply to message m_881 that the ferry has been delayed", {"message_id": "m_881", "text": "the ferry has been delayed"}),
        (MAIL, "mail ada@x.org, subject Walk on the dike, body The tide is low", {
            "to": "ada@x.org", "subject": "Walk on the dike", "body": "The tide is low",
        }),
        (MAIL, "mail ada@x.org that the tide is low, subject Tuesday walk", {
            "to": "ada@x.org", "body": "the tide is low", "subject": "Tuesday walk",
        }),
        (RENAME, "change the title of ticket HB-31 to new lamps in the hall", {"ticket_id": "HB-31", "title": "new lamps in the hall"}),
        (TICKET, "create the ticket \"Wet floor\" on board 8f2c-1 with tags deploy and web", {
            "title": "Wet floor", "board": "8f2c-1", "tags": ["deploy", "web"],
        }),
        (ROUTE, "way from 3 Dock Road, Cork to 12 Quay Street, Cobh", {"origin": "3 Dock Road, Cork", "destination": "12 Quay Street, Cobh"}),
        (ALBUM, "create an album called Island summers", {"name": "Island summers"}),
        (WRITE, "write port 8080 to /srv/a.conf", {"path": "/srv/a.conf", "content": "port 8080"}),
        (COMMAND, "run the command make docs --quiet", {"command": "make docs --quiet"}),
        (GREP, "search /srv/a for class Tide in it", {"path": "/srv/a", "pattern": "class Tide in it"}),
    ],
)  # fmt: skip
def test_texts_without_quotation_marks_end_before_other_inputs(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (FORGET, "delete the things Tea kettle and Old Lamp completely", {"names": ["Tea kettle", "Old Lamp"]}),
        (FORGET, "delete the things Drill DX-40 and Shed 3", {"names": ["Drill DX-40", "Shed 3"]}),
        (TRACKS, "add the tracks 7qa and 9kd to list L-4", {"track_ids": ["7qa", "9kd"], "list_id": "L-4"}),
        (TICKET, "create the ticket \"Wet floor\" on board 8f2c-1, tags hall and stairs, goes to kim", {
            "title": "Wet floor", "board": "8f2c-1", "tags": ["hall", "stairs"],
        }),
        (DOOR, "set the code of door D14 to 7302", {"door": "D14", "code": "7302"}),
        (LOGS, "show the logs for wqxzjp", {"project_id": "wqxzjp"}),
        (SCAN, "scan @tuba/brass", {"package": "@tuba/brass"}),
        (MEETING, "create a meeting \"Tides\", location Room 4", {"title": "Tides", "location": "Room 4"}),
        (TREE, "tree of /srv/a without tmp, and I also need it soon", {"path": "/srv/a", "excludePatterns": ["tmp"]}),
        (REGEX, "does the regex \"^a+$\" match \"aab\"", {"pattern": "^a+$", "text": "aab"}),
        (MERGE, "merge branch fix/tide with \"Low tide\" as the commit title", {"branch": "fix/tide", "commit_title": "Low tide"}),
        (IMAGE, "pull gulls:2.4-slim", {"repository": "gulls", "tag": "2.4-slim"}),
        (IMAGE, "pull gulls tag 2.4", {"repository": "gulls", "tag": "2.4"}),
        (CONTAINER, "create a container from gulls:2.4-slim", {"image": "gulls:2.4-slim"}),
        (NEARBY, "find bakeries near Lange Gasse 9, Graz", {"query": "bakeries", "location": "Lange Gasse 9, Graz"}),
        (SPENT, "I spent 12 at Hofer", {"amount": 12, "shop": "Hofer"}),
        (PURGE, "purge https://a.org/x.js and https://a.org/y.js in zone z-19", {
            "files": ["https://a.org/x.js", "https://a.org/y.js"], "zone_id": "z-19",
        }),
        (SAVE, "save photo ph_31 in /data/photos", {"photo_id": "ph_31", "save_path": "/data/photos"}),
        (RELEASES, "releases of project tide-app with 4.2 in the version", {"project_slug": "tide-app", "query": "4.2"}),
    ],
)  # fmt: skip
def test_values_of_several_words_are_found_as_a_whole(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_a_revision_takes_the_file_beside_it_where_the_description_gives_that_form() -> None:
    show = tool("show_revision", repo_path=TEXT, revision=described("A commit, or <revision>:<path> of a file"))
    assert arguments("show notes.txt at v2.1 in /srv/app", show) == {
        "repo_path": "/srv/app",
        "revision": "v2.1:notes.txt",
    }
