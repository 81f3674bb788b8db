"""Choosers: the tool of one step, chosen by the ranker alone, by probabilities of a model, or by a model that names it alone."""
