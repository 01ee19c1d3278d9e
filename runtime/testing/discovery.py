"""Which manifests belong to which tests: `assistant.test.yaml` to the `assistant.yaml` beside it."""

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from runtime.errors import UsageError
from runtime.manifest.source import SUFFIXES, TEST_SUFFIXES, find_files
from runtime.resource_set import Resource


def is_test_file(path: str) -> bool:
    return path.endswith(TEST_SUFFIXES)


def find_sets(paths: Sequence[str]) -> list[list[str]]:
    """The files of each set that is to be tested.

    Manifests are one set, with the tests beside them and whatever else is named; tests alone are a set each, with what
    they are tests of. Raises UsageError.
    """
    files = find_files(paths, with_tests=True)
    manifests = [path for path in files if not is_test_file(path)]
    if manifests:
        beside = [test for manifest in manifests for test in find_tests(manifest)]
        return [sorted({*files, *beside})]
    return [[*find_manifests(test), test] for test in files]


def find_tests(manifest: str) -> list[str]:
    """The tests of one manifest, which have its name."""
    stem = _without_suffix(manifest, SUFFIXES)
    return [stem + suffix for suffix in TEST_SUFFIXES if os.path.isfile(stem + suffix)]


def find_manifests(test: str) -> list[str]:
    """What a file tests: the manifest of its name, or where there is none all manifests of its folder."""
    stem = _without_suffix(test, TEST_SUFFIXES)
    named = [stem + suffix for suffix in SUFFIXES if os.path.isfile(stem + suffix)]
    if named:
        return named
    folder = os.path.dirname(test)
    names = sorted(os.listdir(folder or "."))
    return [os.path.join(folder, name) for name in names if name.endswith(SUFFIXES) and not is_test_file(name)]


def _without_suffix(path: str, suffixes: Iterable[str]) -> str:
    return next((path[: -len(suffix)] for suffix in suffixes if path.endswith(suffix)), path)


def choose(cases: Sequence[Resource], pattern: str | None) -> list[Resource]:
    """The cases whose name fits a glob, or has the pattern in it; upper and lower case alike."""
    if pattern is None:
        return list(cases)
    wanted = pattern.lower() if any(mark in pattern for mark in "*?[") else f"*{pattern.lower()}*"
    return [case for case in cases if fnmatchcase(str(case.name).lower(), wanted)]


def refuse_none(cases: Sequence[Resource], pattern: str | None) -> UsageError:
    """The error of a test without a case to run."""
    if not cases:
        return UsageError("there is no case to run", hint='declare a "Test.Case", in the manifest or in "*.test.yaml"')
    names = ", ".join(str(case.name) for case in cases)
    return UsageError(f'no case fits "{pattern}"', hint=f"there are: {names}")
