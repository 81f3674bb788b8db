"""The options of the vector ranker with their defaults, as data."""

from __future__ import annotations

from collections.abc import Mapping

OPTIONS: Mapping[str, str | bool | int | float] = {
    # Chosen on developer sets, see docs/benchmarks/selection.md.
    "weight": 0.5,
    # The weight where the catalog contains no word of the request.
    "foreign_weight": 1.5,
    # A server's model as provider/model; empty: the model of the extra, in this process.
    "embeddings": "",
    # Texts per request to a server, and its time limit in seconds: a ranking waits for it.
    "batch": 96,
    "timeout_s": 10.0,
    # Directory of the cached vectors; empty: the user's cache directory. "off" caches nothing.
    "cache": "",
}
