"""Plans and agent runs of a weak model that truncates and leaks reasoning."""
