"""A set of manifests as a service. `service.py` holds what runs; what speaks HTTP is imported by the command alone."""
