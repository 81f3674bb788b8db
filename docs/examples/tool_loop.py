"""Let a model call Python functions until it answers."""

import attrs

from helmdeck_core import Helmdeck, Message, Role, TextPart, ToolDefinition

MAX_TURNS = 8


def get_weather(city):
    """Stand for a function of an application."""
    return f"3 degrees Celsius in {city}"


CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = (ToolDefinition("get_weather", "Get the weather of a city.", CITY),)
FUNCTIONS = {"get_weather": get_weather}


def answer(deck, question):
    """Return the answer of the model after at most ``MAX_TURNS`` turns."""
    request = attrs.evolve(deck.chat_request(question), tools=TOOLS)
    for _ in range(MAX_TURNS):
        response = deck.complete(request)
        found = deck.tool_calls(response, tools=TOOLS, model=request.model)
        if not found.calls:
            return found.text
        calls = tuple(each.call for each in found.calls)
        turn = Message(Role.ASSISTANT, (TextPart(found.text),), tool_calls=calls, opaque=response.opaque)
        outputs = [Message(Role.TOOL, (TextPart(execute(each)),), tool_call_id=each.call.id) for each in found.calls]
        request = attrs.evolve(request, messages=(*request.messages, turn, *outputs))
    raise RuntimeError(f"no answer after {MAX_TURNS} turns")


def execute(found):
    """Execute one call; an exception becomes text for the model."""
    try:
        return FUNCTIONS[found.call.name](**found.args)
    except Exception as error:
        return f"error: {error}"


if __name__ == "__main__":
    with Helmdeck() as deck:
        print(answer(deck, "Is it cold in Oslo?"))
