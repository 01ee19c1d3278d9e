"""Other programs' configuration files to manifests: what maps is translated, what does not is told line by line.

One module for each format; what they have in common lies beside them. Nothing of a credential gets into a manifest.
"""

from runtime.importing.conversion import FORMATS, convert
from runtime.importing.draft import Draft, Note

__all__ = ["FORMATS", "Draft", "Note", "convert"]
