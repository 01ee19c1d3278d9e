"""The page as one file: its scripts and styles put into it, and a policy that lets a browser run nothing else."""

import base64
import hashlib
from importlib.resources import files
from typing import NamedTuple

from runtime.picture.svg import read_style

SCRIPTS = ("dom", "service", "calls", "resources", "chat", "tools", "runs", "manifest", "main")
"""In this order; they share one scope."""


class Bundle(NamedTuple):
    """The text of the page, and its Content-Security-Policy."""

    text: str
    policy: str


def make_bundle() -> Bundle:
    """The page from its sources."""
    style = read_style() + _read("style.css")
    script = "\n" + "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    text = _read("index.html").replace("/* style */", style, 1).replace("/* script */", script, 1)
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Bundle(text, policy)


def _read(name: str) -> str:
    return files("runtime.serve.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
