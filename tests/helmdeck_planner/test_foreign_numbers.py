"""Numbers that an input cannot take as they are: of another unit, with a fraction, or of another thing."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, arguments, described, tool

WHOLE = {"type": "integer"}
TIMER = tool("start_timer", {"hours": WHOLE, "minutes": WHOLE, "seconds": WHOLE})
COUNTDOWN = tool("start_countdown", minutes=WHOLE)
DISK = tool("grow_disk", {"size_gb": described("New size in GB", WHOLE)}, disk=described("Name of the disk"))
BYTES = tool("grow_disk", {"size_bytes": described("New size in bytes", WHOLE)}, disk=described("Name of the disk"))
HEATING = tool("set_heating", {"celsius": described("Degrees Celsius", NUMBER)}, room=described("Name of the room"))
RATING = tool("rate_film", {"stars": described("Stars", WHOLE)}, title=described("Title of the film"))
CHANNELS = tool("list_channels", {"limit": described("Maximum number of channels", WHOLE)})
TASK = tool("add_task", {"duration_minutes": WHOLE}, content=TEXT)
PULLS = tool("list_pulls", {"page": WHOLE, "per_page": WHOLE}, repo=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (TIMER, "start a timer for 1 hour and 20 minutes", {"hours": 1, "minutes": 20}),
        (TIMER, "start a timer for two and a half minutes", {"minutes": 2, "seconds": 30}),
        (TIMER, "start a timer for 90 minutes", {"minutes": 90}),
        (TIMER, "start a timer for 1h30", {"hours": 1, "minutes": 30}),
        (COUNTDOWN, "start a countdown of two and a half minutes", {}),
        (COUNTDOWN, "start a countdown of 1 hour and 5 minutes", {"minutes": 65}),
    ],
)
def test_integers_take_whole_parts_of_a_quantity(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "name", "value"),
    [
        (BYTES, "grow the disk sda to 10 GB", "size_bytes", None),
        (BYTES, "grow the disk sda to 5000 bytes", "size_bytes", 5000),
        (DISK, "grow the disk sda to 10 GB", "size_gb", 10),
        (HEATING, "set the heating in the hall to 70 °F", "celsius", None),
        (HEATING, "set the heating in the hall to 21 °C", "celsius", 21),
        (RATING, 'rate the film "Up" four out of five stars', "stars", None),
        (RATING, 'rate the film "Up" 4 stars', "stars", 4),
        (CHANNELS, "There are 40 people in our team. List the channels", "limit", None),
        (CHANNELS, "List the channels. 40 will do", "limit", 40),
        (TASK, "add two tasks: sweep and mop", "duration_minutes", None),
        (TASK, 'add a 30 minute task "Stretch"', "duration_minutes", 30),
        (PULLS, "list the pulls 21 to 40 of acme/web", "per_page", None),
        (PULLS, "list the pulls of acme/web, page 3, 50 per page", "per_page", 50),
    ],
)
def test_a_number_of_something_else_is_left_open(
    entry: dict[str, Any], request_text: str, name: str, value: int | None
) -> None:
    assert arguments(request_text, entry).get(name) == value
