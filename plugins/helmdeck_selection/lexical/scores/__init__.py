"""The scores of entries: terms of a request, what values stand for, look-ups of ids."""
