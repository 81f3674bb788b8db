"""Ways to let a small model choose among the ranker's best candidates, by the probabilities of tokens."""
