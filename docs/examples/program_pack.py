"""A program as a pack: ``dates.weekday`` runs a script that reads and writes JSON."""

import sys

from helmdeck_core import PackErrorCode, hookimpl
from helmdeck_runs import ProgramLimits, effect_hints, program_pack

SCRIPT = """
import datetime, json, sys

try:
    day = datetime.date.fromisoformat(json.load(sys.stdin)["date"])
except ValueError as exc:
    print(exc, file=sys.stderr)
    sys.exit(3)
print(json.dumps({"weekday": day.strftime("%A")}))
"""


@hookimpl
def helmdeck_packs():
    """Provide the pack."""
    return [
        program_pack(
            "dates.weekday",
            [sys.executable, "-c", SCRIPT],
            description="Name the weekday of a date.",
            input_schema={"type": "object", "properties": {"date": {"type": "string"}}, "required": ["date"]},
            output_schema={"type": "object", "properties": {"weekday": {"type": "string"}}, "required": ["weekday"]},
            annotations=effect_hints(read_only=True, open_world=False),
            limits=ProgramLimits(timeout_s=10, max_memory_bytes=500_000_000),
            exit_codes={3: PackErrorCode.INVALID_INPUT},
        )
    ]
