"""`Python.*`: functions of one's own, where a server for them would be too much."""
