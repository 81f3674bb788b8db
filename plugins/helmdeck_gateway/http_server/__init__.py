"""Serving over HTTP: sockets, worker processes, reload, metrics."""
