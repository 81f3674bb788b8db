"""Every built-in adapter keeps the contract of providers, against a server that fails in its dialect."""

from helmdeck_testing import ANTHROPIC, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, ProviderContract


class TestChatCompletions(ProviderContract):
    name = "openai"
    dialect = OPENAI_CHAT
    environ = {"OPENAI_API_KEY": ProviderContract.SECRET}


class TestResponses(ProviderContract):
    name = "openai-responses"
    dialect = OPENAI_RESPONSES
    environ = {"OPENAI_API_KEY": ProviderContract.SECRET}


class TestAnthropic(ProviderContract):
    name = "anthropic"
    dialect = ANTHROPIC
    environ = {"ANTHROPIC_API_KEY": ProviderContract.SECRET}


class TestGemini(ProviderContract):
    name = "gemini"
    dialect = GEMINI
    environ = {"GEMINI_API_KEY": ProviderContract.SECRET}


class TestOllama(ProviderContract):
    name = "ollama"
    dialect = OLLAMA
