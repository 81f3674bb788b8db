"""The parts of a request, one per requested action."""
