"""Reads model responses: the decoder of JSON and the reader of tool calls, which share the marks of reasoning."""
