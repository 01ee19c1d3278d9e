"""`Runtime.Recording`: what stands in the place of models and clients in a test."""

from runtime.testing.contracts import Recording

__all__ = ["Recording"]
