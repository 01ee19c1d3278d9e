"""`Test.*`: what is expected of a set of manifests, beside the set itself."""
