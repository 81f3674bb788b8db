"""The same checks with every SDK, over the gateway and a scripted model."""
