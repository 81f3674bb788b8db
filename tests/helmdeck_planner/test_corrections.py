"""Values that a request corrects."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import EMAIL, NUMBER, TEXT, arguments, described, tool

REPLY = tool("reply_to_message", message_id=TEXT, text=described("The reply"))
MAIL = tool("send_mail", to=EMAIL, subject=TEXT, body=TEXT)
CHECKUP = tool("book_checkup", patient=described("Name of the patient"))
LAMP = tool("set_lamp", lamp_id=TEXT, level=NUMBER)


@each_case(
    ("entry", "request_text", "args"),
    [
        (REPLY, "reply \"Done\" to message m_11, no wait, to message m_12", {"message_id": "m_12", "text": "Done"}),
        (MAIL, "mail ada@x.org, sorry, bob@x.org, subject \"Hi\", body \"Tea?\"", {"to": "bob@x.org", "subject": "Hi", "body": "Tea?"}),
        (CHECKUP, "book a checkup for Mia Holm, I mean Mia Holt", {"patient": "Mia Holt"}),
        (LAMP, "set lamp L-31, no, L-32 to level 7", {"lamp_id": "L-32", "level": 7}),
        (LAMP, "set lamp L-31 to level 7. Oops, 8", {"lamp_id": "L-31", "level": 8}),
    ],
)  # fmt: skip
def test_a_corrected_value_replaces_the_one_before_it(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_an_excluded_value_corrects_nothing() -> None:
    forget = tool("delete_things", names={"type": "array", "items": TEXT, "description": "Names of the things"})
    assert arguments("delete the things Tea, no Lamp", forget) == {"names": ["Tea"]}
