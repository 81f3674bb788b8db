"""Marks of reasoning, names that models write, and the diagnosis of unusable responses."""
