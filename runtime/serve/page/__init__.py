"""The page at `/`: its sources, joined into one file when it is served, and what it shows of the live set."""
