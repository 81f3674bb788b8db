"""What providers that speak HTTP are made of: connections, events, bodies, failures, and the provider of any wire format."""
