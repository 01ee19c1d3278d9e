"""JSON Schema as data: published schemas made sound, merged, flattened, put into words. No provider is known here."""
