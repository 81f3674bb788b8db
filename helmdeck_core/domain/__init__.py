"""Frozen values that hooks, chains and callers exchange; no behaviour with an opinion."""
