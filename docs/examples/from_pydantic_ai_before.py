"""pydantic-ai: a typed value, and a model that calls a function."""

from pydantic import BaseModel
from pydantic_ai import Agent


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


agent = Agent("openai-chat:gpt-4.1-mini", output_type=City)
print(agent.run_sync("Which city has the Eiffel Tower?").output)

weather = Agent("openai-chat:gpt-4.1-mini")


@weather.tool_plain
def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"3 degrees Celsius in {city}"


print(weather.run_sync("Is it cold in Oslo?").output)
