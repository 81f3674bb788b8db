"""Choosers: the tool of one step, chosen by the ranker alone or by probabilities of a model."""
