"""Reads model responses: text to a typed value, or the reason why there is none.

- **In**: the text of a response, its stop reason, the requested type.
- **Out**: a value that the response literally contains, or ``DecodeFailed``; visible text apart from reasoning; tool calls
  that a model wrote as text.
- **Hooks**: ``helmdeck_decoders``, ``helmdeck_decode_steps``, ``helmdeck_reasoning_tags``, ``helmdeck_refusal_patterns``,
  ``helmdeck_tool_call_formats``, ``helmdeck_tool_call_readers``, ``helmdeck_answer_types``, ``helmdeck_chat_inputs``.
- **Begin** with the first module of a line; ``reasoning_tags``, ``refusals`` and ``tool_calls.formats`` are data::

    text -> decoder.json_decoder (the text is the value, or one span of it) ---------------> value
              -> decoder.response_decoder -> decoder.fragments (outside reasoning) --------> value
                   -> json_repair (decode steps, one after the other) ---------------------> value
                        -> decoder.diagnosis, decoder.refusal_matcher ---------------------> DecodeFailed
    text -> decoder.reasoning_stripper (by reasoning_marks) ---------> visible text, reasoning
    text -> tool_calls.walker (marks, regions) -> tool_calls.reader -> calls that may be executed, malformed ones
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
