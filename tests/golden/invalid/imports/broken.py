"""Fails."""

raise RuntimeError("the dome is shut")
