"""Switches and choices that a request states in the words of their descriptions, and those that it does not state."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import SWITCH, TEXT, arguments, described, tool


def choices(text: str, *values: str) -> dict[str, Any]:
    return {**TEXT, "enum": list(values), "description": text}


EXPORT = tool(
    "export_album",
    {
        "watermark": described("Whether to stamp a logo on each photo. Default: false", SWITCH),
        "originals": described("Whether to add the raw camera files, instead of compressed copies", SWITCH),
        "delivery": choices(
            "How the album is handed over: 'archive' is one zip, 'gallery' is a public web site", "archive", "gallery"
        ),
    },
    album=TEXT,
)
OVEN = tool(
    "heat_oven",
    {
        "fan": described("Whether the hot air is blown around", SWITCH),
        "steamAllowed": described("Whether water vapour may be added", SWITCH),
        "rack": choices("Where the tray goes", "topShelf", "middle", "bottomShelf"),
    },
    dish=TEXT,
)
BUILD = tool(
    "build_site", {"noMinify": described("Keep the style sheets readable", SWITCH), "skipDrafts": SWITCH}, folder=TEXT
)
CARD = tool("print_card", {"foil": described("Whether the lettering gets a golden coat", SWITCH)}, title=TEXT)


PETS = tool(
    "list_pets",
    {"order": {"enum": ["age", "weight", "name"]}, "list-mode": {"enum": ["photo-wall", "table"]}},
    shelter=TEXT,
)
SHOES = tool("search_shoes", {"sort": {"enum": ["price", "rating"]}}, query=TEXT)
PARCEL = tool("send_parcel", {"arrival": {"enum": ["onTheDay", "onTheNextDay", "inWeek"]}}, address=TEXT)
ROUTE = tool("plan_route", {"vehicle": {"enum": ["bike", "tram"]}}, destination=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (EXPORT, "export the album 'Alps' with a logo", {"watermark": True}),
        (EXPORT, "export the album 'Alps', camera files as well", {"originals": True}),
        (EXPORT, "export the album 'Alps' without a logo", {"watermark": False}),
        (EXPORT, "export the album 'Alps'. Leave out the logo", {"watermark": False}),
        (EXPORT, "export the album 'Alps' as a zip", {"delivery": "archive"}),
        (EXPORT, "export the album 'Alps', not as a zip", {"delivery": "gallery"}),
        (EXPORT, "export the album 'Alps' and hand me the zip", {"delivery": "archive"}),
        (OVEN, "heat the oven for the dish 'Pizza', steam is allowed", {"steamAllowed": True}),
        (OVEN, "heat the oven for the dish 'Pizza' with water vapour", {"steamAllowed": True}),
        (OVEN, "heat the oven for the dish 'Pizza' on the top shelf", {"rack": "topShelf"}),
        (PARCEL, "send the parcel to 'Elm Rd 4' on the next day", {"arrival": "onTheNextDay"}),
        (PARCEL, "send the parcel to 'Elm Rd 4' in a week", {"arrival": "inWeek"}),
        (CARD, "print the card 'Welcome' with golden lettering", {"foil": True}),
        (BUILD, "build the site in 'blog' without drafts", {"skipDrafts": True}),
        (BUILD, "build the site in 'blog', drafts included", {"skipDrafts": False}),
        (BUILD, "build the site in 'blog', don't minify anything", {"noMinify": True}),
    ],
)
def test_the_words_of_a_description_state_a_value(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    found = arguments(request_text, entry)
    assert {name: value for name, value in found.items() if name in args or value in (True, False)} == args


@each_case(
    ("entry", "request_text"),
    [
        (EXPORT, "export the album 'Alps' for the camera club"),  # one word of two
        (EXPORT, "export the album 'Alps' with compressed copies"),  # what the switch does not do
        (EXPORT, "export the album 'Alps' by default"),
        (OVEN, "heat the oven for the dish 'Pizza' on the shelf"),  # half of the name of two choices
        (OVEN, "we may blow the budget, heat the oven for the dish 'Pizza'"),
        (CARD, "print the card 'Welcome' with a coat of arms"),
    ],
)
def test_other_words_state_no_value(entry: dict[str, Any], request_text: str) -> None:
    assert arguments(request_text, entry).keys() <= {"album", "dish", "title"}


@each_case(
    ("entry", "request_text", "args"),
    [
        (PETS, "list the pets of shelter 'West', oldest first", {"order": "age"}),
        (PETS, "list the pets of shelter 'West'. Heaviest on top", {"order": "weight"}),
        (PETS, "list the pets of shelter 'West' on the photo-wall", {"list-mode": "photo-wall"}),
        (SHOES, "search shoes for sandals, cheapest first", {"query": "sandals", "sort": "price"}),
        (PETS, "how old are the pets of shelter 'West'", {}),
        (SHOES, "search shoes for cheap sandals", {"query": "cheap sandals"}),
        (ROUTE, "I'd prefer to go by bike: plan a route to 'Pier 4'", {"vehicle": "bike"}),
        (ROUTE, "my bike is at home. Plan a route to 'Pier 4'", {}),
    ],
)
def test_an_adjective_or_a_preference_states_a_choice(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    found = arguments(request_text, entry)
    assert {name: value for name, value in found.items() if name not in ("shelter", "destination")} == args
