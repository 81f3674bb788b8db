"""One call from the first request to the answer: sent, watched, tried otherwise, told."""
