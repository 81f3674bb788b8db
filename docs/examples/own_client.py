"""A client of the application: here one that answers by itself, as in a test; it could have a client certificate."""

import httpx2

from helmdeck_core import ChatRequest, Helmdeck, Message, Role, TextPart


def answer(_):
    """What the server would send."""
    choice = {"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    return httpx2.Response(200, json={"choices": [choice], "model": "mock"})


client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
with Helmdeck(http_clients={"vllm": client}) as deck:
    question = (Message(Role.USER, (TextPart("say hello"),)),)
    print(deck.complete(ChatRequest(model="vllm/any", messages=question)).text)
print("closed by the deck:", client.is_closed)
