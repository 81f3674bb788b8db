"""What the adapters of the SDK checks share: one line of JSON per operation in, one line per result out."""

import json
import sys

TOOL = "look_up"
DESCRIPTION = "look a word up"
PARAMETERS = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "required": ["word"],
    "additionalProperties": False,
}
KEY = "right-key-0123456789"


class Unsupported(Exception):
    """The SDK cannot do it; the text says why."""


def look_up(word: str) -> str:
    """Look a word up."""
    return word


def reply(text="", *, calls=(), finish=None, usage=(None, None), deltas=0):
    """Return a result."""
    return {"text": text or "", "calls": list(calls), "finish": finish, "usage": list(usage), "deltas": deltas}


def call(id, name, arguments):
    """Return a tool call; arguments are JSON or a dictionary."""
    return {"id": id, "name": name, "arguments": json.loads(arguments) if isinstance(arguments, str) else arguments}


def describe(exc):
    """Return the class, the message, and, where the exception has them, HTTP status and ``Retry-After``."""
    status = next(
        (found for each in ("status_code", "code") if isinstance(found := getattr(exc, each, None), int)), None
    )
    error = {"class": type(exc).__name__, "message": str(exc)[:500], "status": status}
    response = getattr(exc, "response", None) or getattr(exc.__cause__, "response", None)
    if response is not None and hasattr(response, "headers"):
        error["retry_after"] = response.headers.get("retry-after")
        error["status"] = status or getattr(response, "status_code", None)
    return error


def main(chat, embed=None, models=None, stored=None):
    """Run operations until standard input ends."""
    url = sys.argv[1]
    results, sys.stdout = sys.stdout, sys.stderr  # libraries that print must not disturb the protocol
    operations = {"chat": chat, "embed": embed, "models": models, "stored": stored}
    for line in sys.stdin:
        request = json.loads(line)
        fields = {"key": KEY, **request["fields"]}
        try:
            operation = operations[request["op"]]
            if operation is None:
                missing = {"embed": "no embeddings", "models": "no list of models", "stored": "no such calls"}
                raise Unsupported(missing[request["op"]])
            result = operation(url, **fields)
        except Unsupported as exc:
            result = {"unsupported": str(exc)}
        except Exception as exc:
            result = {"error": describe(exc)}
        results.write(json.dumps(result) + "\n")
        results.flush()
