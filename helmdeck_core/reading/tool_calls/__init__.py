"""Recovers tool calls from what a model wrote, and says which calls may be run.

The formats are data: no mark is named here. Nothing is ever completed, and everything is linear in the length of the text.
"""
