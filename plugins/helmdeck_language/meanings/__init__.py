"""What words mean: synonyms, broader and everyday words, and what verbs do."""
