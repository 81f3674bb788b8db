"""Keys of clients (``keys``, ``principals``), their limits (``ledger``), and what their calls cost (``request_costs``)."""
