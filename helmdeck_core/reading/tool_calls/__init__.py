"""Recovers tool calls from model text and decides which calls may be executed.

The formats are data from plugins. Truncated calls are never completed; all searches are linear in the text length.
"""
