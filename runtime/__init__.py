"""The engine: it knows no kind by name and never imports `kinds`."""
