"""Two packages that every command needs, imported for less than they ask for.

Together they save a command about one and a half times what a bare interpreter takes to start. Both packages are the
same afterwards as after a plain import.
"""

import sys
from typing import Any


def import_msgspec() -> None:
    """Import msgspec without `typing_extensions`, which it tries first and has no need of since Python 3.11.

    Whoever wants that package afterwards imports it as ever.
    """
    if "msgspec" in sys.modules or "typing_extensions" in sys.modules:
        return
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # an import of it fails, as if it were missing
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules["typing_extensions"]


def import_yaml() -> None:
    """Import yaml with another pattern for the characters that its pure-Python reader refuses.

    The reader's own names all that is allowed, which takes longer to compile than the rest of yaml to import; this one
    finds the same characters.
    """
    if "yaml" in sys.modules:
        return
    import re

    compile_plainly = re.compile

    def compile_quickly(pattern: Any, flags: Any = 0) -> Any:
        return compile_plainly(REFUSED if pattern == ALL_BUT_ALLOWED else pattern, flags)

    re.compile = compile_quickly  # for the moment of the import
    try:
        import yaml  # noqa: F401
    finally:
        re.compile = compile_plainly


ALL_BUT_ALLOWED = "[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
REFUSED = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]"
