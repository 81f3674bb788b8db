"""Quantities, times, switches and choices that a request states in other words than the schema, and those that it does not state."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, tool

WORK = tool("log_work", {"minutes": described("Time in minutes", NUMBER)}, ticket=TEXT)
SONG = tool("cut_song", start_seconds=NUMBER, end_seconds=NUMBER, path=described("Path of the song"))
REMINDER = tool("create_reminder", {"delay_seconds": NUMBER}, title=TEXT)
VOUCHER = tool(
    "create_voucher",
    {
        "percent_off": described("Percent taken off", NUMBER),
        "duration": {"enum": ["once", "forever"]},
    },
    name=TEXT,
)
CAFES = tool("find_cafes", {"radius_km": described("Search radius in kilometres", NUMBER)}, place=TEXT)
DAY = {**TEXT, "format": "date"}
VISITS = tool("list_visits", {"since": DAY, "until": DAY}, clinic=TEXT)
WINDOW = tool("resize_window", width=NUMBER, height=NUMBER)
LOG = tool(
    "read_log",
    {"head": described("Only the first N lines", NUMBER), "tail": described("Only the last N lines", NUMBER)},
    path=TEXT,
)
TIME = tool(
    "convert_time",
    source_timezone=described("Source IANA timezone name, such as 'Europe/London'"),
    time=described("Time in 24-hour format (HH:MM)"),
    target_timezone=described("Target IANA timezone name, such as 'Europe/London'"),
)
CONFIG = tool("edit_config", {"dryRun": described("Preview the changes only", SWITCH)}, path=TEXT)
ALBUM = tool("create_album", {"public": described("Whether everybody can see the album", SWITCH)}, name=TEXT)
TODO = tool("update_todo", {"completed": SWITCH}, todo_id=described("ID of the todo"))
CACHE = tool("clear_cache", {"clear_everything": described("Clear all cached pages", SWITCH)}, site_id=TEXT)
FIELD = tool("fill_field", {"submit": SWITCH}, target=described("Selector of the element"), text=TEXT)
JOBS = tool("list_jobs", {"all": described("Show all jobs, not only the running ones", SWITCH)})
SCREEN = tool("emulate_screen", {"contrast": {"enum": ["more", "less"]}, "motion": {"enum": ["reduce", "keep"]}})
TUNES = tool("list_tunes", {"mood": described("Mood such as gloomy or cheerful")})
PAYMENT = tool("record_payment", {"method": {"enum": ["cash", "card"]}}, customer=TEXT, amount=NUMBER)
ARCHIVE = tool(
    "pack_folder",
    {
        "output": {
            **TEXT,
            "enum": ["link", "content"],
            "description": "'link' returns a URL, 'content' returns the whole content",
        }
    },
    path=TEXT,
)


@each_case(
    ("entry", "request_text", "args"),
    [
        (WORK, "log 3 hours 20 on ticket 'Roof'", {"ticket": "Roof", "minutes": 200}),
        (WORK, "log an hour and a quarter on ticket 'Roof'", {"ticket": "Roof", "minutes": 75}),
        (WORK, "log 3 hours 20 times on ticket 'Roof'", {"ticket": "Roof", "minutes": 180}),
        (WORK, "log 9876543210987 seconds on ticket 'Roof'", {"ticket": "Roof"}),
        (SONG, "cut /a/b.mp3 from 0:45 to 2:10", {"path": "/a/b.mp3", "start_seconds": 45, "end_seconds": 130}),
        (REMINDER, "create a reminder 'Oven' at 9:30", {"title": "Oven"}),
        (WORK, "log a ten-minute call on ticket 'Roof'", {"ticket": "Roof", "minutes": 10}),
        (CAFES, "find cafes near 'Elm Rd 4', no further than 700 metres", {"place": "Elm Rd 4", "radius_km": 0.7}),
        (CAFES, "find cafes near 'Elm Rd 4', no closer than 700 metres", {"place": "Elm Rd 4"}),
        (VISITS, "list the visits of clinic 'East', nothing older than 2027-03-01", {"clinic": "East", "since": "2027-03-01"}),
        (VISITS, "list the visits of clinic 'East', nothing after 2027-03-01", {"clinic": "East", "until": "2027-03-01"}),
        (WINDOW, "How does it look at 400 x 700? Resize the window to that", {"width": 400, "height": 700}),
        (VOUCHER, "create a voucher named Spring Sale with 7.5 % off", {"name": "Spring Sale", "percent_off": 7.5}),
        (VOUCHER, "create a voucher named Spring Sale that takes 8 % off", {"name": "Spring Sale", "percent_off": 8}),
    ],
)  # fmt: skip
def test_a_quantity_is_read_in_the_unit_of_its_input(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("request_text", "args"),
    [
        ("read the first 30 lines of /var/a.log", {"path": "/var/a.log", "head": 30}),
        ("read the end of /var/a.log, 30 lines", {"path": "/var/a.log", "tail": 30}),
        ("read 30 lines of /var/a.log", {"path": "/var/a.log"}),
        ("Each log has ninety thousand lines and I can't open them, so read the first 30 lines of /var/a.log", {
            "path": "/var/a.log", "head": 30,
        }),
    ],
)  # fmt: skip
def test_a_number_of_lines_goes_to_the_end_that_a_request_names(request_text: str, args: dict[str, Any]) -> None:
    assert arguments(request_text, LOG) == args


@each_case(
    ("request_text", "time"),
    [
        ("convert quarter past eight in the evening Paris time to Tokyo", "20:15"),
        ("The party starts at half past nine in the evening, Paris time. Convert that time to Tokyo", "21:30"),
        ("The party starts at 21:40, Paris time. Convert that time to Tokyo", "21:40"),
    ],
)
def test_the_zone_beside_a_time_in_words_is_its_own(request_text: str, time: str) -> None:
    assert arguments(request_text, TIME) == {
        "source_timezone": "Europe/Paris",
        "time": time,
        "target_timezone": "Asia/Tokyo",
    }


@each_case(
    ("entry", "request_text", "stated"),
    [
        (CONFIG, "edit the config /a.ini. Don't save it yet, show me the diff first", {"dryRun": True}),
        (CONFIG, "edit the config /a.ini, nothing saved", {"dryRun": True}),
        (CONFIG, "edit the config /a.ini, only show me the diff", {"dryRun": True}),
        (CONFIG, "edit the config /a.ini and show me the diff", {}),
        (CONFIG, "edit the config /a.ini. Don't save anything, I only want a preview", {"dryRun": True}),
        (CONFIG, "edit the config /a.ini, no preview please", {"dryRun": False}),
        (CONFIG, "edit the config /a.ini", {}),
        (ALBUM, "create a private album named 'Alps'", {"public": False}),
        (ALBUM, "create an album named 'Alps' that only I can see", {"public": False}),
        (ALBUM, "create an album named 'Alps', visible to everyone", {"public": True}),
        (ALBUM, "create an album named 'Alps' for my private lessons", {}),
        (TODO, "mark todo 7719 as done", {"completed": True}),
        (TODO, "update todo 7719, it is not done", {"completed": False}),
        (CACHE, "clear the entire cache of site 'blog'", {"clear_everything": True}),
        (CACHE, "clear the cache of site 'blog'", {}),
        (FIELD, "fill the field #q with 'tea', hit enter afterwards", {"submit": True}),
        (JOBS, "list the jobs, the dead ones as well", {"all": True}),
        (JOBS, "list the jobs", {}),
    ],
)
def test_a_switch_is_set_by_what_a_phrase_means(
    entry: dict[str, Any], request_text: str, stated: dict[str, Any]
) -> None:
    found = arguments(request_text, entry)
    assert {name: value for name, value in found.items() if isinstance(value, bool)} == stated


@each_case(
    ("entry", "request_text", "stated"),
    [
        (VOUCHER, "create a voucher named 'Spring' for one time only", {"duration": "once"}),
        (VOUCHER, "create a voucher named 'Spring'", {}),
        (SCREEN, "emulate a screen with increased contrast", {"contrast": "more"}),
        (SCREEN, "emulate a screen with reduced motion", {"motion": "reduce"}),
        (SCREEN, "emulate a screen with increased brightness", {}),
        (TUNES, "list cheerful tunes", {"mood": "cheerful"}),
        (TUNES, "list the tunes of my gloomy brother", {}),
        (PAYMENT, "Ada Brown just paid 40 euros in cash, record the payment", {"method": "cash"}),
        (ARCHIVE, "pack the folder /a/b, I'd rather have the whole content than a link", {"output": "content"}),
    ],
)
def test_a_choice_is_set_by_what_a_phrase_means(
    entry: dict[str, Any], request_text: str, stated: dict[str, Any]
) -> None:
    names = ("duration", "contrast", "motion", "mood", "method", "output")
    assert {name: value for name, value in arguments(request_text, entry).items() if name in names} == stated
