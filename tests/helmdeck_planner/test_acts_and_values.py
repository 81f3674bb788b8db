"""Acts with two verbs or none, and values in the form, the unit and the place that an input takes."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, plan, tool

LIST_OF_TEXT = {"type": "array", "items": TEXT}
PROJECT = described("Project path such as group/app")
BRANCH = tool("create_branch", project=PROJECT, branch=described("New branch"), ref=described("Branch to start from"))
ISSUE = tool("create_issue", {"labels": LIST_OF_TEXT}, project=PROJECT, title=described("Title"))
APPROVE = tool("approve_change", change_id=described("Id of the change"))
MERGE = tool(
    "merge_change",
    {"remove_source_branch": described("Delete the source branch after merging", SWITCH)},
    change_id=described("Id of the change"),
)
STOP = tool("stop_container", container_id=described("Id or name of the container"))
REMOVE = tool("remove_container", container_id=described("Id or name of the container"))
TICKET = tool(
    "update_ticket",
    {"status": {"enum": ["open", "solved"]}, "assignee_email": described("Mail address of the assignee")},
    ticket_id=described("Number of the ticket", NUMBER),
)
REPLACE = tool(
    "replace_in_note", title=described("Title of the note"), old=described("Old text"), new=described("New text")
)
LIMIT = tool("change_limit", card=described("Last four digits of the card"), limit=described("New limit", NUMBER))
MOVE_MONEY = tool("transfer_money", recipient=described("Name"), amount=described("Amount in euros", NUMBER))
REMIND = tool("add_reminder", title=described("Title of the note"), at=described("Date and time, ISO 8601"))
SEND = tool(
    "send_message",
    {"when": described("When to send it, ISO 8601")},
    chat=described("Name of the chat or person"),
    text=TEXT,
)
POLL = tool("create_poll", question=described("Question"), options={**LIST_OF_TEXT, "description": "Answers"})
FORWARD = tool(
    "forward_message",
    from_chat=described("Chat that has the message"),
    message_id=described("Number of the message", NUMBER),
    to_chat=described("Chat to forward to"),
)
COPY = tool(
    "copy_object", source=described("Bucket and key such as b/k"), destination=described("Bucket and key such as b/k")
)
PLATE = described("Licence plate, e.g. B-AX 417")
DRIVER = tool("assign_driver", plate=PLATE, driver=described("Name of the driver"))
LOCK = tool("lock_vehicle", plate=PLATE)
CONTACT = tool("create_contact", first_name=described("First name"), last_name=described("Last name"))
ITEMS = tool("remove_items", items={**LIST_OF_TEXT, "description": "Things to remove"})
NOTE = tool("create_note", {"text": described("Text of the note")}, title=described("Title of the note"))


@each_case(
    ("entry", "request_text", "args"),
    [
        (
            BRANCH,
            "create branch fix/a from main in acme/web",
            {"project": "acme/web", "branch": "fix/a", "ref": "main"},
        ),
        (ISSUE, 'create an issue "Crash on start" in acme/web', {"project": "acme/web", "title": "Crash on start"}),
        (
            REPLACE,
            "replace Tuesday with Thursday in the note Plan",
            {"title": "Plan", "old": "Tuesday", "new": "Thursday"},
        ),
        (LIMIT, "set the limit of card 1234 to 500", {"card": "1234", "limit": 500}),
        (LIMIT, "raise the limit of card 1234 by 100", {"card": "1234"}),
        (REMIND, "add a reminder of Milk at 9:30 on 1 December 2026", {"title": "Milk", "at": "2026-12-01T09:30"}),
        (REMIND, "add a reminder of Milk on 2026-12-01", {"title": "Milk"}),
        (SEND, 'send Anna "Hi"', {"chat": "Anna", "text": "Hi"}),
        (POLL, 'create a poll "Where to?" with the options Rome and Oslo', {"question": "Where to?"}),
        (
            FORWARD,
            "forward message 55 from Family to Work",
            {"from_chat": "Family", "message_id": 55, "to_chat": "Work"},
        ),
        (COPY, "copy data/a.csv to old/a.csv", {"source": "data/a.csv", "destination": "old/a.csv"}),
        (DRIVER, "make Anna Berg the regular driver of M-KL 12", {"plate": "M-KL 12", "driver": "Anna Berg"}),
        (LOCK, "lock M-KL 12", {"plate": "M-KL 12"}),
        (CONTACT, "create a contact for Kim Park of Acme", {"first_name": "Kim", "last_name": "Park"}),
        (ITEMS, "remove everything from the list", {"items": None}),
        (NOTE, 'create a note Groceries with the text "socks"', {"title": "Groceries", "text": "socks"}),
    ],
)
def test_each_value_goes_whole_to_the_input_that_takes_it(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    found = arguments(request_text, entry)
    assert {name: found.get(name) for name in args} == args


def test_a_list_of_answers_ends_behind_its_last_one() -> None:
    request = 'create a poll "Where to?" with the options Rome, Oslo and Lisbon, several answers allowed'
    assert arguments(request, POLL)["options"] == ["Rome", "Oslo", "Lisbon"]


@each_case(
    ("request_text", "amount"),
    [
        ("transfer 100 euros to Anna", 100),
        ("transfer 100 to Anna", 100),
        ("transfer 100 dollars to Anna", None),
        ("transfer $100 to Anna", None),
    ],
)
def test_an_amount_in_another_currency_is_not_taken(request_text: str, amount: int | None) -> None:
    assert plan(request_text, MOVE_MONEY)[0]["args"].get("amount") == amount


@each_case(
    ("request_text", "steps"),
    [
        ("approve and merge change C-12", ["approve_change", "merge_change"]),
        ("stop and remove the container web", ["stop_container", "remove_container"]),
        ("stop and restart the container web", ["stop_container", "unknown"]),
    ],
)
def test_two_verbs_with_one_object_are_two_steps(request_text: str, steps: list[str]) -> None:
    found = plan(request_text, APPROVE, MERGE, STOP, REMOVE)
    assert [step["tool"] for step in found] == steps
    served = [step["args"] for step in found if step["args"]]
    assert all(args == served[0] for args in served)


@each_case(
    ("request_text", "value"),
    [
        ("merge change C-12 but keep the source branch", False),
        ("merge change C-12 and delete the source branch", True),
        ("merge change C-12", None),
    ],
)
def test_what_is_kept_is_not_removed(request_text: str, value: bool | None) -> None:
    [step] = plan(request_text, MERGE, BRANCH)
    assert (step["tool"], step["args"].get("remove_source_branch")) == ("merge_change", value)


@each_case("request_text", ["lower the priority of ticket 4512", "assign ticket 4512 to Bob", "update ticket 4512"])
def test_an_update_of_nothing_is_a_gap_with_its_reason(request_text: str) -> None:
    [step] = plan(request_text, TICKET)
    assert (step["tool"], step["args"]) == ("unknown", {})
    assert step["rationale"].endswith("states nothing that update_ticket changes")


def test_an_update_with_a_new_value_is_a_step() -> None:
    assert arguments("solve ticket 4512", TICKET) == {"ticket_id": 4512, "status": "solved"}


def test_a_noun_that_is_the_verb_deletes_nothing() -> None:
    snapshot = {"snapshot_id": described("Id of the snapshot, e.g. snap-9")}
    found = plan("snapshot vol-12 before you stop it", tool("delete_snapshot", **snapshot))
    assert [step["tool"] for step in found] == ["unknown"]


MOVE = tool("move_file", source=described("Path of the file"), destination=described("New path"))
MAKE = tool("create_directory", path=described("Path of the directory"))
TRANSLATE = tool("translate_text", text=TEXT, target_language=described("Language to translate into"))
WRITE = tool("write_file", path=described("Path of the file"), content=TEXT)
COMMIT = tool("git_commit", repo_path=described("Path of the repository"), message=described("Commit message"))
EVENT = tool("create_event", {"location": described("Where it takes place")}, title=TEXT)
COUPON = tool("create_coupon", name=TEXT, amount_off=described("Amount in cents", NUMBER))


def test_files_that_move_into_a_new_folder_keep_their_own_names() -> None:
    found = plan("create /srv/docs, move /srv/a.md and /srv/b.md into it", MAKE, MOVE)
    assert [step["args"].get("destination") for step in found[1:]] == ["/srv/docs/a.md", "/srv/docs/b.md"]


def test_two_languages_are_two_translations() -> None:
    found = plan('translate "good morning" into French and German', TRANSLATE)
    assert [step["args"]["target_language"] for step in found] == ["French", "German"]


def test_a_file_is_no_repository() -> None:
    found = plan('write "build/" to /srv/.gitignore and commit as "Ignore build"', WRITE, COMMIT)
    assert found[-1]["args"] == {"message": "Ignore build"}


def test_what_an_event_is_for_is_no_place() -> None:
    assert "location" not in arguments("create the event 'Desk' for writing", EVENT)


def test_a_charge_is_no_coupon() -> None:
    assert [step["tool"] for step in plan("charge Anna 500 cents", COUPON)] == ["unknown"]


ENG = tool(
    "update_issue",
    {"state": described("State name or ID"), "assignee": described('User ID, name, email, or "me"')},
    id=described("Issue ID"),
)


@each_case(
    ("request_text", "args"),
    [
        ("assign ENG-5 to ann", {"id": "ENG-5", "assignee": "ann"}),
        ("set ENG-5 to Done", {"id": "ENG-5", "state": "Done"}),
        ("assign ENG-5 to me and set it to Done", {"id": "ENG-5", "assignee": "me", "state": "Done"}),
    ],
)
def test_the_verb_decides_between_a_person_and_a_state(request_text: str, args: dict[str, str]) -> None:
    assert [step["args"] for step in plan(request_text, ENG)] == [args]


INVOICE = tool("create_invoice", customer=described("Id of the customer, e.g. cus_1"))
FINALIZE = tool("finalize_invoice", invoice=described("Id of the invoice"))
INSTALL = tool("install_package", package=described("Name of the package"))
TOPIC = tool("mqtt_subscribe", topic=described("Topic to subscribe to"))
PLAYLIST = tool(
    "add_to_playlist", playlist_id=described("Id of the playlist"), track_ids={**LIST_OF_TEXT, "description": "Ids"}
)
PROMOTE = tool("promote_version", package=described("Package such as acme/lib"), version=described("Version"))


def test_the_id_of_a_new_thing_is_not_that_of_what_it_is_for() -> None:
    found = plan("create an invoice for cus_1 and finalize it", INVOICE, FINALIZE)
    assert [step["args"] for step in found] == [{"customer": "cus_1"}, {}]


def test_two_packages_are_installed_one_by_one() -> None:
    found = plan("install numpy and pandas", INSTALL)
    assert [step["args"] for step in found] == [{"package": "numpy"}, {"package": "pandas"}]


def test_a_topic_is_not_cut() -> None:
    assert arguments("subscribe to home/#", TOPIC) == {}


def test_an_id_is_not_the_playlist_that_it_is_added_to() -> None:
    assert arguments("add t1 to my playlist", PLAYLIST) == {"track_ids": ["t1"]}


def test_a_verb_is_no_package() -> None:
    found = plan("promote 1.2.3 of acme/lib", PROMOTE)
    assert [step["args"] for step in found] == [{"package": "acme/lib", "version": "1.2.3"}]


DELETE_MAIL = tool("delete_email", messageId=described("Id of the email message"))
ASSIGN = tool("assign_issue", issue_key=described("Key, e.g. PROJ-1"), assignee_id=described("Id or email of a user"))
MOVE_CARD = tool("move_card", cardId=described("Id of the card"), listId=described("Id of the list"))


def test_a_mail_address_is_the_id_of_persons_only() -> None:
    assert arguments("delete all mails from bob@example.com", DELETE_MAIL) == {}
    found = arguments("assign PROJ-1 to bob@example.com", ASSIGN)
    assert found == {"issue_key": "PROJ-1", "assignee_id": "bob@example.com"}


def test_a_card_that_is_renamed_is_not_moved() -> None:
    assert [step["tool"] for step in plan("rename the card C1", MOVE_CARD)] == ["unknown"]


def test_a_verb_that_is_taken_back_is_no_new_name() -> None:
    [step] = plan("don't delete /tmp/a.txt, but rename it to /tmp/b.txt", MOVE)
    assert "delete" not in step["args"].values()
