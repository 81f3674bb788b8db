"""Every built-in adapter keeps the contract of providers, against a server that fails in its wire format."""

from helmdeck_testing import ANTHROPIC, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, ProviderContract


class TestChatCompletions(ProviderContract):
    name = "openai"
    server_format = OPENAI_CHAT
    environ = {"OPENAI_API_KEY": ProviderContract.SECRET}


class TestResponses(ProviderContract):
    name = "openai-responses"
    server_format = OPENAI_RESPONSES
    environ = {"OPENAI_API_KEY": ProviderContract.SECRET}


class TestAnthropic(ProviderContract):
    name = "anthropic"
    server_format = ANTHROPIC
    environ = {"ANTHROPIC_API_KEY": ProviderContract.SECRET}


class TestGemini(ProviderContract):
    name = "gemini"
    server_format = GEMINI
    environ = {"GEMINI_API_KEY": ProviderContract.SECRET}


class TestOllama(ProviderContract):
    name = "ollama"
    server_format = OLLAMA
