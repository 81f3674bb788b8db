"""The built-in packs: files, HTTP requests, texts and pictures."""
