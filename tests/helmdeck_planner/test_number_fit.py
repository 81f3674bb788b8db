"""Numbers in words and with units, and the input that each of several numbers belongs to."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import TEXT, arguments, described, tool

WHOLE: dict[str, Any] = {"type": "integer"}
WORK = tool("log_work", {"minutes": described("Time in minutes", WHOLE)}, ticket=TEXT)
HARVEST = tool("list_crates", {"max_crates": described("Maximum number of crates to return", WHOLE)}, orchard=TEXT)


@each_case(
    ("entry", "request_text", "args"),
    [
        (WORK, "log two and a half hours on ticket 'Roof'", {"ticket": "Roof", "minutes": 150}),
        (WORK, "log 1h30m on ticket 'Roof'", {"ticket": "Roof", "minutes": 90}),
        (WORK, "log half an hour on ticket 'Roof'", {"ticket": "Roof", "minutes": 30}),
        (WORK, "log 1.5k minutes on ticket 'Roof'", {"ticket": "Roof", "minutes": 1500}),
        (HARVEST, "list twenty-five crates of orchard 'East'", {"orchard": "East", "max_crates": 25}),
        (HARVEST, "list the crates of orchard 'East', half a dozen at most", {"orchard": "East", "max_crates": 6}),
        (HARVEST, "list this one of orchard 'East'", {"orchard": "East"}),
    ],
)
def test_number_in_words_is_read_in_the_unit_of_its_input(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args
