"""Serving over HTTP: sockets and signals (``server``), worker processes, reload of the configuration, metrics."""
