"""The load of one process: the order in which requests are processed (``fair_queue``), and its bounds (``shedding``)."""
