"""What a history of plans brings to selection."""
