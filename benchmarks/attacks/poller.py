"""Polls ``/healthz`` every 20 ms until standard input is closed; prints the longest delay, and that of its own sleep."""

from __future__ import annotations

import http.client
import json
import select
import sys
import time

PAUSE_S = 0.02
LIMIT_S = 20.0


def main(host: str, port: int) -> None:
    longest = noise = 0.0
    connection = http.client.HTTPConnection(host, port, timeout=LIMIT_S)
    print("ready", flush=True)
    is_over = False
    while not is_over:
        start_s = time.perf_counter()
        is_over = bool(select.select([sys.stdin], [], [], PAUSE_S)[0])
        if not is_over:
            noise = max(noise, time.perf_counter() - start_s - PAUSE_S)
        start_s = time.perf_counter()
        try:
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            connection.close()
        longest = max(longest, time.perf_counter() - start_s)
    print(json.dumps([longest, noise]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
