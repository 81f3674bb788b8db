"""Numbers that the words around them give to an input: limits, pages, shares of what was named before, and measures."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import SWITCH, TEXT, arguments, described, plan, tool

WHOLE: dict[str, Any] = {"type": "integer"}
PARCELS = tool(
    "list_parcels",
    {
        "limit": described("Maximum number of parcels to return", WHOLE),
        "status": {"enum": ["lost", "delivered"]},
        "insured": described("Only insured parcels", SWITCH),
    },
    depot=TEXT,
)
CARDS = tool("list_cards", {"per_page": WHOLE, "page": WHOLE}, deck=TEXT)
SHAFT = tool("dig_shaft", {"depth": WHOLE, "width": WHOLE}, name=TEXT)
COACH = tool("book_coach", {"bike_places": described("How many of the seats have room for a bike", WHOLE)}, seats=WHOLE)
FEE = tool("charge_fee", {"amount_cents": described("Amount in cents", WHOLE)}, customer=TEXT)
CHAPTER = tool("read_chapter", {"total": WHOLE}, chapter=WHOLE)


@each_case(
    ("entry", "request_text", "args"),
    [
        (PARCELS, "list the lost parcels of depot 'Kiel', max 25", {"status": "lost", "limit": 25}),
        (PARCELS, "list the parcels of depot 'Kiel', 7 tops", {"limit": 7}),
        (PARCELS, "list the parcels of depot 'Kiel', 12 will do", {"limit": 12}),
        (PARCELS, "list the parcels of depot 'Kiel', 12 at the most", {"limit": 12}),
        (PARCELS, "list a dozen lost parcels of depot 'Kiel'", {"status": "lost", "limit": 12}),
        (PARCELS, "list the parcels of depot 'Kiel'. Don't show more than 15", {"limit": 15}),
        (PARCELS, "list the parcels of depot 'Kiel', street number 12", {}),
        (CARDS, "list the cards of deck 'Verbs', 40 on a page", {"per_page": 40}),
        (CARDS, "list the cards of deck 'Verbs', page 3", {"page": 3}),
        (SHAFT, "dig a shaft named 'East', 4 metres deep at most and 2 metres wide", {"depth": 4, "width": 2}),
        (COACH, "book a coach with 30 seats, two of them with bike places", {"seats": 30, "bike_places": 2}),
        (FEE, "charge customer 'Ada' a fee of 45.50", {"amount_cents": 4550}),
        (FEE, "charge customer 'Ada' a fee of 45", {}),
        (PARCELS, "list the parcels of depot 'Kiel', show two of them", {}),
        (CHAPTER, "read chapter 3 out of 9", {"chapter": 3, "total": 9}),
    ],
)
def test_the_words_around_a_number_name_its_input(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert {**arguments(request_text, entry)} == {**args, **_text(entry, request_text)}


def _text(entry: dict[str, Any], request_text: str) -> dict[str, str]:
    """Return the quoted value of the required text."""
    name = entry["input_schema"]["required"][0]
    return {name: request_text.split("'")[1]} if entry["input_schema"]["properties"][name] == TEXT else {}


@each_case(
    ("following", "args"),
    [
        ("Show no more than 10", {"limit": 10}),
        ("Only give me insured ones", {"insured": True}),
        ("Give me those, 5 at most", {"limit": 5}),
    ],
)
def test_a_sentence_of_inputs_alone_belongs_to_the_step_before(following: str, args: dict[str, Any]) -> None:
    [step] = plan(f"List the parcels of depot 'Kiel'. {following}", PARCELS)
    assert step["args"] == {"depot": "Kiel", **args}


def test_a_sentence_with_other_words_is_a_part_of_its_own() -> None:
    steps = plan("List the parcels of depot 'Kiel'. Paint 10 fences at most", PARCELS)
    assert [step["tool"] for step in steps] == ["list_parcels", "unknown"]


PAYMENT = tool("pay", {}, amount=described("Amount of money", {"type": "number"}))
PRICE = tool("create_price", {}, unit_amount=described("Amount in cents", WHOLE))
SCALES = tool("log_weight", {}, weight=described("Weight in kilograms", {"type": "number"}))
SUM = tool("sum_numbers", {}, numbers={"type": "array", "items": {"type": "number"}})


@each_case(
    ("entry", "request_text", "args"),
    [
        (PAYMENT, "pay $1,299", {"amount": 1299}),
        (PAYMENT, "pay $1,299.99", {"amount": 1299.99}),
        (PAYMENT, "pay £2,000", {"amount": 2000}),
        (PAYMENT, "pay €1.250,75", {"amount": 1250.75}),
        (PAYMENT, "pay 12,5 euros", {"amount": 12.5}),
        (PAYMENT, "pay $1.5k", {"amount": 1500}),
        (PAYMENT, "pay $2 million", {"amount": 2_000_000}),
        (PAYMENT, "pay 1.5 million dollars", {"amount": 1_500_000}),
        (PRICE, "create a price of $1,299.99", {"unit_amount": 129_999}),
        (SCALES, "log my weight, 81,4 kg", {"weight": 81.4}),
        (SUM, "sum up 1,000 and 2,500", {"numbers": [1000, 2500]}),
        (SUM, "sum up 3, 5 and 7", {"numbers": [3, 5, 7]}),
        (SUM, "sum up 3,5,7", {"numbers": [3, 5, 7]}),
    ],
)
def test_a_number_is_read_whole_with_its_marks_and_its_scale(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args
