"""Reads model responses: strips reasoning, decodes and repairs JSON, extracts tool calls, diagnoses failures."""
