"""Reads model responses: text to a typed value, or the reason why there is none.

- **In**: the text of a response, its stop reason, the requested type.
- **Out**: a value that the response literally contains, or ``DecodeFailed``; visible text apart from reasoning; tool calls
  that a model wrote as text.
- **Hooks**: ``helmdeck_decoders``, ``helmdeck_decode_steps``, ``helmdeck_reasoning_tags``, ``helmdeck_refusal_patterns``,
  ``helmdeck_tool_call_formats``, ``helmdeck_tool_call_readers``, ``helmdeck_answer_types``, ``helmdeck_chat_inputs``.
- **Begin** with ``decoder`` (the JSON decoder and the stripper of reasoning), ``tool_calls`` and ``json_repair``;
  ``reasoning_tags`` and ``refusals`` are data.
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
