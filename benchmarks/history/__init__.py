"""History stores under load, and the time that a history adds to a plan."""
