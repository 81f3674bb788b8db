"""Puts a question into words that fit a model: which entries of the catalog, in which form, in which order."""
