"""Composes prompts: which catalog entries a model sees, in which form and order."""
