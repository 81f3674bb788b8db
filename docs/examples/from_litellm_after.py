"""Helmdeck: an answer, a fallback model, and a stream."""

from helmdeck_core import ChatDelta, Helmdeck

question = "What is the capital of France?"

with Helmdeck(
    model="openai/gpt-4.1-mini",
    overrides={("fallback", "openai/gpt-4.1-nano"): ["openai/gpt-4.1"]},
) as deck:
    print(deck.ask(question).value)

    print(deck.ask(question, model="openai/gpt-4.1-nano").value)

    for chunk in deck.stream(question):
        if isinstance(chunk, ChatDelta):
            print(chunk.text, end="")
