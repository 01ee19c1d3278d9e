"""Included files: inside the manifest's folder, there, and text."""

import os

from runtime.checks.findings import Findings
from runtime.manifest import Include
from runtime.resource_set import Resource, ResourceSet


def check_includes(resources: ResourceSet, findings: Findings) -> None:
    """INCLUDE_OUTSIDE, INCLUDE_NOT_FOUND."""
    for resource, _ in resources.known():
        if resource.owner is None and resource.document.includes:
            for include in resource.document.includes:
                if not findings.is_silenced(include):
                    _check(resource, include, findings)


def _check(resource: Resource, include: Include, findings: Findings) -> None:
    folder = os.path.realpath(resource.source.folder)
    path = os.path.realpath(os.path.join(folder, include)) if "\0" not in include else folder
    if os.path.isabs(include) or os.path.commonpath([folder, path]) != folder:
        message = f'"{include}" lies outside the manifest\'s folder'
        findings.report(resource, include.place, "INCLUDE_OUTSIDE", message, "move the file into the manifest's folder")
        return
    try:
        read_included(resource.source.folder, include)
    except OSError as error:
        problem = (
            "is not there" if isinstance(error, FileNotFoundError) else (error.strerror or "cannot be read").lower()
        )
        findings.report(resource, include.place, "INCLUDE_NOT_FOUND", f'the file "{include}": {problem}')
    except ValueError:
        findings.report(resource, include.place, "INCLUDE_NOT_FOUND", f'the file "{include}" is not UTF-8 text')


def read_included(folder: str, path: str) -> str:
    """The text of an included file; OSError or ValueError where there is none."""
    with open(os.path.join(folder, path), encoding="utf-8", newline="") as file:
        return file.read()
