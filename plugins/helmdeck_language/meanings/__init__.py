"""What words mean: synonyms, broader words, and everyday words for those of catalogs."""
