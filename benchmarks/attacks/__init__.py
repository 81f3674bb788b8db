"""What attackers and careless neighbours do to the gateway, the library, its plugins and its stores, with verdicts."""
