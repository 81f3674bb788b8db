"""The wire formats of providers, one package each: request, response, stop reasons."""
