"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "budgets": "helmdeck_providers.budgets",  # budgets and tiers of known models
    "stop_reasons": "helmdeck_providers.stop_reasons",  # stop reasons that several servers share
    "prices": "helmdeck_providers.price_lists",  # prices from genai-prices
    "openai": "helmdeck_providers.wire_formats.openai_chat",  # OpenAI chat completions and compatible servers
    "responses": "helmdeck_providers.wire_formats.openai_responses",  # OpenAI Responses and compatible servers
    "anthropic": "helmdeck_providers.wire_formats.anthropic",  # Anthropic Messages
    "gemini": "helmdeck_providers.wire_formats.gemini",  # Gemini generateContent
    "ollama": "helmdeck_providers.wire_formats.ollama",  # Ollama's chat API
    "routing": "helmdeck_providers.routing",  # several keys and servers of one provider
    "secrets": "helmdeck_providers.key_formats",  # formats of API keys, for redaction
    "httpx": "helmdeck_providers.transports.httpx",  # the default transport
    "transports": "helmdeck_providers.transports.announced",  # transports that are distributions of their own
}
