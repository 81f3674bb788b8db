"""Values for one of two sides, new and old values, differences, and states that a command turns on or off."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, plan, tool

STAGES = {"enum": ["dev", "staging", "production"], "description": "Environment"}
PROJECT = described("Key of the project")
FLAG = described("Key of the flag")
COPY = tool("copy_flag", project=PROJECT, flag=FLAG, source=STAGES, target=STAGES)
ARCHIVE = tool("archive_flag", project=PROJECT, flag=FLAG)
TOGGLE = {
    **tool("toggle_flag", project=PROJECT, flag=FLAG, environment=STAGES, on=described("Whether it is on", SWITCH)),
    "description": "Turn a feature flag on or off in an environment.",
}
PLACE = described("Location")
SKU = described("SKU")
SET_STOCK = tool("set_stock", sku=SKU, location=PLACE, quantity=described("Counted quantity", NUMBER))
ADJUST = tool(
    "adjust_stock",
    {"reason": {"enum": ["lost", "found", "recount"]}},
    sku=SKU,
    location=PLACE,
    delta=described("Difference; negative takes away", NUMBER),
)
TRANSFER = tool(
    "transfer_stock",
    sku=SKU,
    from_location=described("Location to take from"),
    to_location=described("Location to put into"),
    quantity=described("Units to move", NUMBER),
)
GRADE = tool("change_grade", student=described("Id of the student"), grade=described("Grade, 1 to 6", NUMBER))
CHARGE = tool("set_charge_limit", percent=described("Level, 50 to 100", NUMBER))
CACHE = tool("purge_cache", {"urls": {"type": "array", "items": TEXT}}, zone=described("Name of the zone"))
RECORD = tool(
    "create_record", zone=described("Name of the zone"), name=described("Name of the record"), value=described("Value")
)
DROP = tool("delete_record", zone=described("Name of the zone"), record_id=described("Id of the record"))
SECRET = tool("delete_secret", repo=described("Repository"), name=described("Name of the secret"))
PIPELINES = tool("list_pipelines", {"branch": described("Only of this branch")}, repo=described("Repository"))
START = tool("trigger_pipeline", repo=described("Repository"), ref=described("Branch or tag"))
BLOCK = tool("block_ip", {"minutes": described("Minutes until it is free again", NUMBER)}, ip=described("Address"))
BLOCKED = tool("list_blocked")
SOURCE = {"source": described("Address or network that may connect")}
ALLOW = {
    **tool("allow_port", SOURCE, port=described("Port", NUMBER)),
    "description": "Allow traffic to a port.",
}
DENY = {**tool("deny_port", SOURCE, port=described("Port", NUMBER)), "description": "Deny traffic to a port."}
PLAY = tool("play", {"uri": described("URI of what to play"), "device": described("Name of the device")})
ROLL_BACK = tool("rollback", {"to_version": described("Version")}, environment=STAGES)


@each_case(
    ("entry", "request_text", "args"),
    [
        (
            COPY,
            "copy dark-mode from staging to production",
            {"flag": "dark-mode", "source": "staging", "target": "production"},
        ),
        (COPY, "copy dark-mode to production", {"flag": "dark-mode", "target": "production"}),
        (ARCHIVE, "archive new-nav", {"flag": "new-nav"}),
        (
            TOGGLE,
            "turn dark-mode off in staging for project web",
            {"project": "web", "flag": "dark-mode", "environment": "staging", "on": False},
        ),
        (
            TOGGLE,
            "turn dark-mode on in production for project web",
            {"project": "web", "flag": "dark-mode", "environment": "production", "on": True},
        ),
        (DROP, "delete the record r1 from example.org", {"zone": "example.org", "record_id": "r1"}),
        (CACHE, "clear the whole cache of example.org", {"zone": "example.org"}),
        (PIPELINES, "list the pipelines of acme/web", {"repo": "acme/web"}),
        (PIPELINES, "list the pipelines of the branch fix/cart", {"branch": "fix/cart"}),
        (START, "start a pipeline for acme/web on develop", {"repo": "acme/web", "ref": "develop"}),
        (BLOCK, "block 198.51.100.4 for half an hour", {"ip": "198.51.100.4", "minutes": 30}),
        (ROLL_BACK, "roll staging back to 1.4.2", {"environment": "staging", "to_version": "1.4.2"}),
    ],
)
def test_a_value_goes_to_the_side_the_thing_or_the_state_that_its_words_name(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "name", "value"),
    [
        (TRANSFER, "we lost 2 A-100 in Hamburg", "from_location", "lost"),
        (SET_STOCK, "add 5 of A-100 to Berlin", "quantity", 5),
        (ADJUST, "adjust A-100 in Berlin to 40", "delta", 40),
        (ADJUST, "we lost 2 of A-100 in Berlin", "delta", 2),
        (GRADE, "change the grade of s12 from 3 to 2", "grade", 3),
        (CHARGE, "cool the car down to 68°F", "percent", 68),
        (RECORD, "add the record www to example.org", "value", "example.org"),
        (PLAY, "play something by Nina Simone", "device", "Nina Simone"),
    ],
)
def test_a_value_of_another_kind_is_none_of_an_input(
    entry: dict[str, Any], request_text: str, name: str, value: object
) -> None:
    assert all(step["args"].get(name) != value for step in plan(request_text, entry))


def test_two_names_of_one_verb_are_two_steps_and_neither_is_the_repository() -> None:
    found = plan("delete the secrets A_KEY and B_KEY of acme/web", SECRET)
    assert [step["args"] for step in found] == [{"repo": "acme/web", "name": each} for each in ("A_KEY", "B_KEY")]


@each_case(
    ("request_text", "names"),
    [
        ("allow 53 only from 10.1.0.0/16", ["allow_port"]),
        ("deny port 53", ["deny_port"]),
        ("block 198.51.100.4 and 198.51.100.5", ["block_ip", "block_ip"]),
        ("which addresses are blocked?", ["list_blocked"]),
        ("deploy version 1.4.3 to production", []),
    ],
)
def test_an_entry_that_undoes_or_only_shows_what_is_requested_is_not_chosen(
    request_text: str, names: list[str]
) -> None:
    found = plan(request_text, ALLOW, DENY, BLOCK, BLOCKED, ROLL_BACK)
    assert [step["tool"] for step in found if step["tool"] != "unknown"] == names


def test_what_only_limits_a_request_is_no_second_one() -> None:
    entry = {**ALLOW, "annotations": {"readOnlyHint": False}}
    [step] = plan("allow udp port 53, but only from 10.1.0.0/16", entry, BLOCK)
    assert step["tool"] != "block_ip"


UNSUBSCRIBE = tool("unsubscribe", list_id=described("Id of the list"), email={"type": "string", "format": "email"})
MAIL = tool("send_email", to={"type": "string", "format": "email"}, subject=TEXT)
STATUS = tool("set_room_status", room=described("Number of the room"), status={"enum": ["clean", "dirty"]})
SIREN = tool("trigger_siren", {"seconds": described("Length in seconds", NUMBER)})
HOURS = tool(
    "log_hours",
    {"note": described("What was done")},
    day=described("Day", {"type": "string", "format": "date"}),
    hours=described("Hours", NUMBER),
    project=described("Project"),
)
RATES = tool(
    "get_rates",
    from_zip=described("Postcode of the sender"),
    to_zip=described("Postcode of the recipient"),
    weight_kg=described("Weight in kilograms", NUMBER),
)
ADDRESS = tool(
    "change_address",
    {"state": described("State, two letters")},
    order_id=described("Number of the order"),
    street=described("Street and number"),
    zip=described("Postcode"),
    city=described("City"),
)


@each_case(
    ("entry", "request_text", "name", "values"),
    [
        (UNSUBSCRIBE, "unsubscribe ann@x.org and bob@x.org from list L1", "email", ["ann@x.org", "bob@x.org"]),
        (STATUS, "set the room status of 7 and 8 to dirty", "room", ["7", "8"]),
        (MAIL, "send an email to ann@x.org and bob@x.org with subject 'A'", "to", ["ann@x.org"]),
    ],
)
def test_each_object_has_a_step_and_a_message_has_one(
    entry: dict[str, Any], request_text: str, name: str, values: list[str]
) -> None:
    assert [step["args"][name] for step in plan(request_text, entry)] == values


@each_case(
    ("request_text", "args"),
    [
        (
            "change the postal address of order 1001 to Main St 5, 80331 Munich",
            {"street": "Main St 5", "zip": "80331", "city": "Munich"},
        ),
        (
            "change the postal address of order 1001 to 12 Elm Street, Springfield, IL 62701",
            {"street": "12 Elm Street", "zip": "62701", "city": "Springfield", "state": "IL"},
        ),
        (
            "change the postal address of order 1001 to Rue de la Paix 3, Paris",
            {"street": "Rue de la Paix 3", "city": "Paris"},
        ),
    ],
)
def test_street_postcode_and_city_go_to_their_inputs(request_text: str, args: dict[str, str]) -> None:
    assert arguments(request_text, ADDRESS) == {"order_id": "1001", **args}


def test_postcodes_are_on_their_sides_and_no_weight() -> None:
    found = arguments("get the rates of a parcel of 2.5 kg from 10115 to 80331", RATES)
    assert found == {"from_zip": "10115", "to_zip": "80331", "weight_kg": 2.5}


def test_a_note_is_not_taken_for_a_project() -> None:
    found = plan(
        "I worked 3 hours on Atlas on 2027-02-01: code review", {**HOURS, "annotations": {"readOnlyHint": False}}
    )
    assert all(step["args"].get("project") != "code review" for step in found)


def test_what_stops_a_thing_does_not_start_it() -> None:
    assert [step["tool"] for step in plan("stop the siren", SIREN)] == ["unknown"]


MOMENT = described("Start, ISO 8601")
ROOM = tool(
    "book_room",
    {"title": described("What for")},
    room=described("Name of the room"),
    start=MOMENT,
    minutes=described("Length in minutes", NUMBER),
)
SLOTS = tool("free_slots", room=described("Name of the room"), day=described("Day"))
EXTEND = tool("extend_booking", booking_id=described("Id of the booking"), minutes=described("Minutes to add", NUMBER))
MERGE = tool(
    "merge_contacts",
    keep_id=described("Id of the contact that stays"),
    duplicate_id=described("Id of the contact that goes"),
)
CONNECT = {
    **tool("connect_network", network=described("Name of the network"), container=described("Name or id")),
    "description": "Connect a container to a network.",
}
INSERT = tool(
    "insert_rows",
    before_row=described("Row before which they are inserted", NUMBER),
    count=described("Number of rows", NUMBER),
)
PRUNE = {
    **tool("prune", {"volumes": described("Also volumes", SWITCH)}),
    "description": "Remove all unused data.",
    "annotations": {"readOnlyHint": False, "destructiveHint": True},
}
REPLACE = {
    **tool("find_replace", find=described("Text to find"), replacement=described("Text to put in its place")),
    "description": "Replace a text everywhere.",
}
PRICE = tool("set_price", sku=SKU, price=described("New price in euros", NUMBER))
DEALS = tool("list_deals", {"owner": described("Only of this salesperson")})


@each_case(
    ("entry", "request_text", "args"),
    [
        (
            ROOM,
            'book the room Aspen from 10 to 11:30 on 2027-02-01 for "Review"',
            {"room": "Aspen", "start": "2027-02-01T10:00", "minutes": 90, "title": "Review"},
        ),
        (
            ROOM,
            "book the room Aspen on 2027-02-01 from 10:00 to 11:30",
            {"room": "Aspen", "start": "2027-02-01T10:00", "minutes": 90},
        ),
        (SLOTS, "when is Aspen free on 2027-02-01?", {"room": "Aspen", "day": "2027-02-01"}),
        (EXTEND, "make the booking b3 an hour longer", {"booking_id": "b3", "minutes": 60}),
        (MERGE, "merge c13, a duplicate of c12", {"keep_id": "c12", "duplicate_id": "c13"}),
        (CONNECT, "connect web to backend", {"network": "backend", "container": "web"}),
        (INSERT, "insert 3 rows before row 5", {"before_row": 5, "count": 3}),
        (PRUNE, "prune but keep the volumes", {"volumes": False}),
        (REPLACE, "replace foo with bar everywhere", {"find": "foo", "replacement": "bar"}),
        (PRICE, "change the price of MUG-1 from 8.50 to 9", {"sku": "MUG-1", "price": 9}),
        (DEALS, "list Ann's deals", {"owner": "Ann"}),
    ],
)
def test_values_of_both_ends_and_sides_go_to_their_inputs(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


SNAPSHOT = tool("create_snapshot", {"name": described("Name of the snapshot")}, server=described("Name of the server"))
RESTORE = tool(
    "restore_files",
    backup_id=described("Id of the backup"),
    paths={"type": "array", "items": TEXT, "description": "Paths to restore"},
)
CART = tool("add_to_cart", {"quantity": described("Number of portions", NUMBER)}, dish=described("Name of the dish"))
CALL = tool("block_number", number=described("Number"))


@each_case(
    ("entry", "request_text", "args"),
    [
        (SNAPSHOT, "take a snapshot of web-1 called before-upgrade", {"server": "web-1", "name": "before-upgrade"}),
        (RESTORE, "restore /etc/hosts from the latest backup of web-1", {"paths": ["/etc/hosts"]}),
        (RESTORE, "restore /etc/hosts from the backup b12", {"backup_id": "b12", "paths": ["/etc/hosts"]}),
        (CART, "add 2 spring rolls to the cart", {"dish": "spring rolls", "quantity": 2}),
        (CART, "add spring rolls to the cart", {"dish": "spring rolls"}),
    ],
)
def test_what_a_thing_is_of_and_how_many_there_are_is_no_part_of_its_name(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_two_phone_numbers_are_two_steps() -> None:
    found = plan("block the numbers +49 30 666111 and +49 30 777111", CALL)
    assert [step["args"] for step in found] == [{"number": "+49 30 666111"}, {"number": "+49 30 777111"}]


MOVE_TASK = {
    **tool("move_task", task_id=described("Id of the task"), project=described("Project")),
    "description": "Put a task into another project.",
}
PRODUCE = {
    **tool(
        "produce",
        {"key": described("Key of the message")},
        topic=described("Name of the topic"),
        value=described("Message"),
    ),
    "description": "Send a message to a topic.",
}
CONSUME = tool(
    "consume", {"from_beginning": described("Start at the first message", SWITCH)}, topic=described("Name of the topic")
)
SUBTITLES = {
    **tool("add_subtitles", path=described("Path of the video"), subtitles=described("Path of the subtitles")),
    "description": "Add subtitles to a video.",
}
TRIM = {
    **tool(
        "trim",
        path=described("Path of the video"),
        start=described("Start, HH:MM:SS"),
        end=described("End, HH:MM:SS"),
    ),
    "description": "Cut a part out of a video.",
}


@each_case(
    ("entry", "request_text", "args"),
    [
        (MOVE_TASK, "move t4 from Home to Work", {"task_id": "t4", "project": "Work"}),
        (
            PRODUCE,
            'send "hello" to orders with key k1',
            {"topic": "orders", "value": "hello", "key": "k1"},
        ),
        (SUBTITLES, "add a.srt to a.mp4", {"path": "a.mp4", "subtitles": "a.srt"}),
        (TRIM, "cut a.mp4 from 0:30 to 1:45", {"path": "a.mp4", "start": "00:00:30", "end": "00:01:45"}),
        (TRIM, "cut a.mp4 from 0:00:30 to 0:01:45", {"path": "a.mp4", "start": "00:00:30", "end": "00:01:45"}),
    ],
)
def test_the_form_of_a_description_decides_which_value_is_which(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_the_topic_of_a_queue_is_a_name_and_no_search() -> None:
    assert arguments("consume the topic orders from the beginning", CONSUME)["topic"] == "orders"


def test_a_command_that_nothing_serves_stays_a_gap_beside_the_next_one() -> None:
    resize = tool("resize_server", server=described("Name of the server"), size={"enum": ["small", "large"]})
    found = plan("take a snapshot of web-1 and then resize it to large", resize)
    assert found[0]["tool"] == "unknown"
    assert "snapshot" in found[0]["rationale"]


def test_every_name_and_choice_of_a_list_has_a_step() -> None:
    remove = tool("remove_container", {"force": SWITCH}, container=described("Name or id"))
    lock = tool("lock_door", door={"enum": ["front", "back", "garage"]})
    found = plan("remove the containers web and api, by force", remove)
    assert [step["args"] for step in found] == [{"container": each, "force": True} for each in ("web", "api")]
    found = plan("lock the front gate, the back gate and the garage", lock)
    assert [step["args"]["door"] for step in found] == ["front", "back", "garage"]


PRESCRIBE = tool(
    "prescribe",
    {"days": described("For how many days", NUMBER)},
    patient_id=described("Id of the patient"),
    dose_mg=described("Dose in milligrams", NUMBER),
    times_per_day=described("How often a day", NUMBER),
)
REPO = described("Repository, e.g. acme/web")
COMPARE = tool("compare", repo=REPO, base=described("Older ref"), head=described("Newer ref"))
TAG = tool("create_tag", repo=REPO, tag=described("Name"), ref=described("Branch or commit"))
PICK = {
    **tool("cherry_pick", repo=REPO, commit=described("Hash of the commit"), branch=described("Branch")),
    "description": "Apply a commit to a branch.",
}


@each_case(
    ("entry", "request_text", "args"),
    [
        (
            PRESCRIBE,
            "prescribe 2 g twice a day for 5 days to p8",
            {"patient_id": "p8", "dose_mg": 2000, "times_per_day": 2, "days": 5},
        ),
        (
            COMPARE,
            "compare the changes between v1.0 and v1.1 in acme/web",
            {"repo": "acme/web", "base": "v1.0", "head": "v1.1"},
        ),
        (TAG, "tag main of acme/web as v2.0", {"repo": "acme/web", "tag": "v2.0", "ref": "main"}),
        (
            PICK,
            "cherry-pick abc1234 onto release in acme/web",
            {"repo": "acme/web", "commit": "abc1234", "branch": "release"},
        ),
    ],
)
def test_rates_units_and_refs_go_to_their_inputs(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args
