"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "reasoning": "helmdeck_reading.reasoning_tags",  # reasoning tags of models
    "decoder": "helmdeck_reading.decoder",  # the decoder, and the stripper of reasoning
    "decode": "helmdeck_reading.json_repair",  # decode steps that repair damaged JSON
    "refusals": "helmdeck_reading.refusals",  # patterns of refusals in prose
    "chat_input": "helmdeck_reading.chat_input",  # chat messages as callers write them
    "answer_types": "helmdeck_reading.answer_types",  # Pydantic, attrs, msgspec and dataclass types of answers
    "tool_calls": "helmdeck_reading.tool_calls.formats",  # formats of tool calls written as text
    "tool_call_reader": "helmdeck_reading.tool_calls",  # the reader of tool calls written as text
}
