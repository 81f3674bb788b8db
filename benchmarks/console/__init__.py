"""Server time of each screen of the console over many recorded requests, its memory, and the cost of recording for a call."""
