"""Included files: inside the manifest's folder, there, and text."""

import os

from runtime.checks.findings import Findings
from runtime.manifest import Include
from runtime.resource_set import Resource, ResourceSet

_LONGEST_PATH = 4096
"""No system has a longer one, and following its links takes a time that grows with the square of its length."""


def check_includes(resources: ResourceSet, findings: Findings) -> None:
    """INCLUDE_OUTSIDE, INCLUDE_NOT_FOUND."""
    for resource in resources.resources:
        if resource.owner is None and resource.document.includes:
            for value in findings.parts(resource):
                if type(value) is Include and not findings.is_full(resource):
                    _check(resource, value, findings)


def _check(resource: Resource, include: Include, findings: Findings) -> None:
    if not include.strip():
        findings.report(resource, include.place, "INCLUDE_NOT_FOUND", '"!include-text" takes the path of a file')
        return
    if len(include) > _LONGEST_PATH:
        findings.report(resource, include.place, "INCLUDE_NOT_FOUND", f'the path "{include}" is too long')
        return
    folder = os.path.realpath(resource.source.folder)
    path = os.path.realpath(os.path.join(folder, include)) if "\0" not in include else folder
    if os.path.commonpath([folder, path]) != folder:
        message = f'"{include}" lies outside the manifest\'s folder'
        findings.report(resource, include.place, "INCLUDE_OUTSIDE", message, "move the file into the manifest's folder")
        return
    problem = _problem(path, resource.source.folder, include)
    if problem is not None:
        findings.report(resource, include.place, "INCLUDE_NOT_FOUND", f'the file "{include}" {problem}')


def _problem(path: str, folder: str, include: str) -> str | None:
    if not os.path.exists(path):
        return "is not there"
    if not os.path.isfile(path):
        return "is no file"  # a folder; or something that could keep a reader waiting forever
    try:
        read_included(folder, include)
    except OSError as error:
        return f"cannot be read: {(error.strerror or 'unknown').lower()}"
    except ValueError:
        return "is not UTF-8 text"
    return None


def read_included(folder: str, path: str) -> str:
    """The text of an included file; OSError or ValueError where there is none."""
    with open(os.path.join(folder, path), encoding="utf-8", newline="") as file:
        return file.read()
