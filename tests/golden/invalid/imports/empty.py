"""No kind in here."""
