"""Sign-in with tokens of an OpenID Connect issuer: settings, keys of issuers, checks of tokens, and the accounts of their subjects."""
