"""Hit rate and false-hit rate of the semantic cache on paraphrases and near misses."""
