"""Reads what a model said: reasoning off, the payload found and mended, tool calls out of text; and why where it cannot."""
