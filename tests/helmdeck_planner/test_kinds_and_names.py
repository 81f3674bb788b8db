"""Things that a request names with their kind, "the pod web-1", and values that say what is not wanted or by how much."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, plan, tool

KIND = described("Type of resource (e.g., pods, deployments, services)")
NAMESPACE = described("Namespace of the cluster")
DELETE = tool(
    "delete_resource", {"resourceType": KIND, "name": described("Name of the resource"), "namespace": NAMESPACE}
)
ROLLOUT = tool(
    "manage_rollout",
    {"namespace": NAMESPACE, "revision": described("Revision to go back to", NUMBER)},
    action={"enum": ["history", "restart", "undo"]},
    kind={"enum": ["deployment", "daemonset"]},
    name=described("Name of the resource"),
)
LOGS = tool(
    "read_logs",
    {
        "container": described("Container name (for pods with several)"),
        "since": described("Logs since a relative time (e.g. '5s', '2m', '3h')"),
    },
    name=described("Name of the pod"),
)
MAILS = tool("list_mails", {"folder": described("Mail folder name, e.g. Inbox, Archive")})
MARK = tool("mark_mail", mail_id=described("Id of the mail"), is_read=described("true for read", SWITCH))
MOVE = tool("move_mail", mail_id=described("Id of the mail"), folder=described("Name of the folder to move to"))
MAKE = tool("create_folder", {"parent": described("Parent folder")}, name=described("Name of the folder"))
DOCUMENT = tool("create_document", title=described("Title of the document"), content=described("Text of it"))
RENAME = tool("rename_file", file_id=described("Id of the file"), name=described("New name"))
COPY = tool("copy_file", {"name": described("Name of the copy")}, file_id=described("Id of the file"))
ROWS = {"type": "array", "items": {"type": "array", "items": TEXT}, "description": "Rows of cells"}
APPEND = tool("append_rows", values=ROWS)
CANCEL = tool("cancel_order", {"refund": described("Refund the payment", SWITCH)}, order_id=described("Order number"))
SHARE = tool(
    "share_file",
    {"notify": described("Send a mail about it", SWITCH)},
    file_id=described("Id of the file"),
    role={"enum": ["reader", "commenter", "writer"]},
    email=described("Mail address of the person"),
)
PRICE = tool("set_price", variant_id=described("Id of the variant"), price=described("New price", NUMBER))
STOCK = tool("change_stock", variant_id=described("Id of the variant"), delta=described("Change of it", NUMBER))
SCENE = tool("run_scene", scene=described("Name of the scene"))
COUPON = tool("delete_coupon", code=described("The code"))
LIGHT = tool("set_light", {"color_name": described("Colour name")}, entity_id=described("Entity id of the light"))
PRODUCTS = tool("list_products", {"title": described("Only products whose title contains this")})
MANAGER = tool(
    "change_manager", employee=described("Name of the employee"), manager=described("Name of the new manager")
)
ALBUM = tool("create_album", {"public": described("Whether all can see it", SWITCH)}, name=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (DELETE, "delete the pod web-1 in staging", {"resourceType": "pod", "name": "web-1", "namespace": "staging"}),
        (DELETE, "delete the service called web", {"resourceType": "service", "name": "web"}),
        (DELETE, "delete the web deployment", {"resourceType": "deployment", "name": "web"}),
        (ROLLOUT, "restart the api deployment", {"action": "restart", "kind": "deployment", "name": "api"}),
        (
            ROLLOUT,
            "roll back the web deployment to revision 3",
            {"action": "undo", "kind": "deployment", "name": "web", "revision": 3},
        ),
        (LOGS, "read the logs of the pod api-7 since 5m", {"name": "api-7", "since": "5m"}),
        (MAILS, "list the mails in my inbox", {"folder": "Inbox"}),
        (MOVE, "move mail m12 to Archive", {"mail_id": "m12", "folder": "Archive"}),
        (MAKE, "create a folder Invoices under Inbox", {"name": "Invoices", "parent": "Inbox"}),
    ],
)
def test_a_kind_and_the_name_beside_it_go_to_the_inputs_that_take_them(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_several_things_of_one_kind_are_several_steps_in_the_same_place() -> None:
    found = [step["args"] for step in plan("delete the pods web-1 and web-2 in staging", DELETE)]
    same = {"resourceType": "pods", "namespace": "staging"}
    assert found == [{**same, "name": "web-1"}, {**same, "name": "web-2"}]


@each_case(
    ("entry", "request_text", "args"),
    [
        (
            DOCUMENT,
            'create a document called Minutes with the text "Present: Ann"',
            {"title": "Minutes", "content": "Present: Ann"},
        ),
        (RENAME, "rename file f12 to Budget 2027.xlsx", {"file_id": "f12", "name": "Budget 2027.xlsx"}),
        (COPY, "copy file f12 as Backup", {"file_id": "f12", "name": "Backup"}),
        (SCENE, "run the scene Movie night", {"scene": "Movie night"}),
        (APPEND, "append the row Ann, 3, yes", {"values": [["Ann", "3", "yes"]]}),
        (APPEND, "append the row Ann Lee, 3", {}),
        (COUPON, "delete coupon SAVE10", {"code": "SAVE10"}),
        (LIGHT, "set light.hall to blue", {"entity_id": "light.hall", "color_name": "blue"}),
        (PRODUCTS, "list the products with mug in the title", {"title": "mug"}),
        (MANAGER, "make Bob Stone the manager of Ann Lee", {"employee": "Ann Lee", "manager": "Bob Stone"}),
    ],
)
def test_a_name_is_taken_whole_and_by_the_input_that_its_neighbours_name(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "name", "value"),
    [
        (LOGS, "read the logs of the sidecar container in pod web-1", "name", "web-1"),
        (CANCEL, "cancel order 1001 without a refund", "refund", False),
        (CANCEL, "cancel order 1001 with a refund", "refund", True),
        (MARK, "mark mail m12 as unread", "is_read", False),
        (MARK, "mark mail m12 as read", "is_read", True),
        (SHARE, "share file f12 with ann@example.com as a writer and don't notify her", "notify", False),
        (SHARE, "share file f12 with ann@example.com as a writer without notifying her", "notify", False),
        (SHARE, "share file f12 with ann@example.com as an editor", "role", "writer"),
        (ALBUM, "create a private album named 'Alps'", "public", False),
        (ALBUM, "create an album named 'Alps' for my private lessons", "public", None),
        (PRICE, "raise the price of variant v1 by 2 euros", "price", None),
        (PRICE, "raise the price of variant v1 to 2 euros", "price", 2),
        (STOCK, "increase the stock of variant v1 by 2", "delta", 2),
    ],
)
def test_what_is_left_out_is_false_and_a_change_is_no_new_value(
    entry: dict[str, Any], request_text: str, name: str, value: object
) -> None:
    assert plan(request_text, entry)[0]["args"].get(name) == value


STOP_SHARING = {**tool("remove_permission", file_id=TEXT, email=TEXT), "description": "Stop sharing a file."}
BLIND = tool("set_blind", position=NUMBER, entity_id=described("Entity id of the cover"))


@each_case(
    ("request_text", "entry"),
    [
        ("share file f12 with ann@example.com", STOP_SHARING),
        ("unpause", tool("pause_playback")),
        ("close the blind halfway", tool("close_blind")),
        ("set cover.blind to blue", LIGHT),
    ],
)
def test_an_entry_that_does_the_reverse_or_too_much_or_has_other_things_is_a_gap(
    request_text: str, entry: dict[str, Any]
) -> None:
    assert [step["tool"] for step in plan(request_text, entry)] == ["unknown"]


@each_case(
    ("request_text", "entry"),
    [
        ("stop sharing file f12 with ann@example.com", STOP_SHARING),
        ("pause", tool("pause_playback")),
        ("close the blind", tool("close_blind")),
        ("set light.hall to blue", LIGHT),
    ],
)
def test_the_entry_that_a_request_means_is_planned(request_text: str, entry: dict[str, Any]) -> None:
    assert [step["tool"] for step in plan(request_text, entry)] == [entry["name"]]
