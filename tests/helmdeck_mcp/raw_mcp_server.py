"""An MCP server on standard input and output without any library, so that it starts quickly and can break every rule.

The first argument is JSON: ``tools`` is the list of tools; ``wait`` is a named pipe that is read before the first answer.
The name of a called tool says what it does.
"""

import json
import os
import sys
import threading
from pathlib import Path

OPTIONS = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
TOOLS = OPTIONS.get("tools", [])
CANCELLED = threading.Event()


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], "isError": False, **more}


def flood(request_id, token):
    """Write 50 MB on one line, the id last."""
    sys.stdout.write('{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"')
    for _ in range(50):
        sys.stdout.write("x" * 1_000_000)
    sys.stdout.write('"}]},"id":' + str(request_id) + "}\n")
    sys.stdout.flush()


def endless_progress(request_id, token):
    """Report progress until the call is cancelled."""
    count = 0
    while not CANCELLED.is_set():
        count += 1
        send(
            {
                "method": "notifications/progress",
                "params": {"progressToken": token, "progress": count, "message": "\x1b[31mred"},
            }
        )


def asks_back(request_id, token):
    """Ask the client for a model."""
    params = {"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5}
    send({"id": 9_000, "method": "sampling/createMessage", "params": params})


def grow(request_id, token):
    """Add a tool, and report the change."""
    TOOLS.append({"name": "grown", "inputSchema": {"type": "object"}})
    send({"method": "notifications/tools/list_changed"})
    send({"id": request_id, "result": text("grown")})


def churn(request_id, token):
    """Report thousands of changes."""
    for _ in range(5_000):
        send({"method": "notifications/tools/list_changed"})
        send({"method": "notifications/message", "params": {"level": "error", "data": "\x1b[31mlog"}})
    send({"id": request_id, "result": text("done")})


def crash(request_id, token):
    """End without an answer."""
    sys.stderr.write("\x1b[31mout of memory\n")
    sys.stderr.flush()
    os._exit(3)


def flood_with(line):
    """Write a line again and again, and answer nothing."""

    def write(request_id, token):
        block = f"{line}\n" * (60_000 // (len(line) + 1))
        while True:
            sys.stdout.write(block)

    return write


LOG = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "error", "data": "x"}})
UNKNOWN = json.dumps({"jsonrpc": "2.0", "method": "notifications/unknown", "params": {}})
CHANGED = json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

SPECIAL = {
    "flood_lines": flood_with("a log line"),
    "flood_empty": flood_with(""),
    "flood_log": flood_with(LOG),
    "flood_unknown": flood_with(UNKNOWN),
    "flood_changes": flood_with(CHANGED),
    "flood": flood,
    "endless_progress": endless_progress,
    "asks_back": asks_back,
    "grow": grow,
    "crash": crash,
    "churn": churn,
}

RESULTS = {
    "error_message": {**text("Access denied"), "isError": True},
    "error_arguments": {
        **text("MCP error -32602: Input validation error: Invalid arguments for tool add"),
        "isError": True,
    },
    "error_text": text("Error: Only SELECT queries are allowed"),
    "error_object": text('{"error": "no such page"}'),
    "text_with_error": text(
        "Error: is the first word of this file", structuredContent={"content": "Error: is the first"}
    ),
    "object_with_error": text('{"error": null, "rows": [1]}'),
    "ansi": {**text("\x1b]0;owned\x07\x1b[2Jgone \x9b31m\u202eevil"), "isError": True},
    "malformed_result": {"content": "no list"},
    "bad_text": {"content": [{"type": "text", "text": 5}]},
    "only_image": {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]},
    "image": {
        "content": [
            {"type": "text", "text": "one"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "text", "text": "two"},
            {"type": "resource", "resource": {"uri": "note://1", "text": "a note"}},
        ],
        "structuredContent": {"width": 20},
    },
}


def call(request_id, params):
    name, token = params["name"], (params.get("_meta") or {}).get("progressToken")
    if name in SPECIAL:
        threading.Thread(target=SPECIAL[name], args=(request_id, token), daemon=True).start()
    elif "call_error" in OPTIONS:
        send({"id": request_id, "error": OPTIONS["call_error"]})
    elif name == "error_protocol":
        send({"id": request_id, "error": {"code": -32603, "message": "database is locked"}})
    elif name == "not_a_message":
        send({"id": request_id, "error": "boom"})
    elif name == "bad_progress":
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": "\x1b[31mhalf"}})
        send({"id": request_id, "result": text("done")})
    elif name == "silent":
        pass
    elif name == "env":
        send({"id": request_id, "result": text(os.environ.get(params["arguments"]["name"], ""))})
    elif name == "leak":
        send({"id": request_id, "result": {**text(f"token {os.environ['TOKEN']} was rejected"), "isError": True}})
    elif name == "was_cancelled":
        send({"id": request_id, "result": text(str(CANCELLED.is_set()))})
    else:
        send({"id": request_id, "result": RESULTS.get(name) or text(json.dumps(params.get("arguments")))})


def page(params):
    size, start = OPTIONS.get("page", 1_000), int((params or {}).get("cursor") or 0)
    more = {"nextCursor": str(start + size)} if start + size < len(TOOLS) else OPTIONS.get("last_page", {})
    return {"tools": TOOLS[start : start + size], **more}


def answer(message):
    method, request_id, params = message.get("method"), message.get("id"), message.get("params")
    if method == "server/discover" and OPTIONS.get("ends_at_discovery"):
        sys.exit("unknown method")
    if method == "initialize":
        sys.stdout.write("a log line that is no message\n")
        capabilities = {"tools": {"listChanged": True}}
        info = {"name": "raw", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
        send({"id": request_id, "result": {**result, **OPTIONS.get("initialize", {})}})
    elif method == "tools/list" and "list_error" in OPTIONS:
        send({"id": request_id, "error": OPTIONS["list_error"]})
    elif method == "tools/list":
        send({"id": request_id, "result": page(params)})
    elif method == "tools/call":
        call(request_id, params)
    elif method == "notifications/cancelled":
        CANCELLED.set()
    elif request_id == 9_000 and "error" in message:
        send({"id": LAST_CALL[0], "result": text(message["error"]["message"])})
    elif request_id is not None and method:
        send({"id": request_id, "error": {"code": -32601, "message": "Method not found"}})
    if method == "tools/call":
        LAST_CALL[:] = [request_id]


LAST_CALL = [0]

if OPTIONS.get("wait"):
    Path(OPTIONS["wait"]).read_text(encoding="utf-8")
for line in sys.stdin:
    answer(json.loads(line))
