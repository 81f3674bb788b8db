"""What the scripts share: each runs cases of one client and prints one line of JSON per case."""

import json
import os
import sys
from pathlib import Path

SECRET = "none"
MODEL = os.environ.get("CLIENT_MODEL", "fake")


def look_up(name: str) -> str:
    """Return the content of a file.

    Args:
        name: path of the file
    """
    return Path(name).read_text()


SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def main(**cases):
    """Run the cases that the command line names; tool cases have ``tool`` in their name.

    Arguments: the base URL of the server without ``/v1``, a prompt for text, one for tools, and names of cases.
    """
    url, ask, ask_tool, *names = sys.argv[1:]
    for name in names or cases:
        row = {"case": name, "text": "", "error": ""}
        try:
            row["text"] = cases[name](url, ask_tool if "tool" in name else ask)
        except Exception as exc:
            row["error"] = f"{type(exc).__name__}: {exc}"[:300]
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()
