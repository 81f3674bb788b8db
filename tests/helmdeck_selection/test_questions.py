"""A question of what is the case is served by an entry that reads; a command by one that acts."""

from __future__ import annotations

from helmdeck_core import Catalog
from helmdeck_selection.lexical import helmdeck_rankers
from tests.case_support import each_case

TOOLS = {
    "alarm_set": "Set an alarm for a time.",
    "alarm_list": "List alarms.",
    "order_food": "Order food.",
}


@each_case(
    ("request_text", "tool"),
    [
        ("What time are my alarms set for?", "alarm_list"),
        ("Set alarms for seven", "alarm_set"),
        ("Can you set alarms for seven?", "alarm_set"),  # a question that is a command
        ("Where's my food", "order_food"),  # no entry that reads is close
        ("Welche Wecker sind für morgen gestellt?", "alarm_list"),
        ("Stell den Wecker auf sieben", "alarm_set"),
    ],
)
def test_question_prefers_an_entry_that_reads(request_text, tool):
    packs = [{"name": name, "description": text} for name, text in TOOLS.items()]
    index = helmdeck_rankers()[0].index(Catalog.from_data({"packs": packs, "pipelines": []}, "asking"), cache=False)
    assert index.rank(request_text).ids[0] == tool
