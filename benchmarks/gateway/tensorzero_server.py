"""Runs the HTTP gateway of TensorZero's wheel, with the interpreter of its own environment.

python tensorzero_server.py CONFIGURATION FILE      # writes its URL to the file
"""

import sys
import threading
from pathlib import Path

import tensorzero.tensorzero as module  # type: ignore[import-not-found]

gateway = module._start_http_gateway(  # noqa: SLF001 (the wheel has no public name for it)
    config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
Path(sys.argv[2]).write_text(f"{gateway.base_url.removesuffix('/openai/v1').rstrip('/')}\n")
threading.Event().wait()
