"""Findings as JUnit XML: one case per resource, in the form that CI servers read."""

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

from runtime.diagnostics.diagnostic import Diagnostic
from runtime.diagnostics.render import printable

Case = tuple[str, str, str]
"""File, kind and name of a resource."""


def as_junit(diagnostics: Sequence[Diagnostic], cases: Iterable[Case]) -> str:
    """A suite per file; what belongs to no resource is a case of its own, named after the file."""
    by_case: dict[tuple[str, str], list[Diagnostic]] = {}
    kinds: dict[tuple[str, str], str] = {}
    for file, kind, name in cases:
        by_case.setdefault((file, name), [])
        kinds.setdefault((file, name), kind)
    for found in diagnostics:
        key = (found.file, found.resource or "")
        by_case.setdefault(key if key in by_case else (found.file, ""), []).append(found)
    root = ElementTree.Element("testsuites", name="runtime validate")
    total = [0, 0]
    by_file: dict[str, list[tuple[str, list[Diagnostic]]]] = {}
    for (file, name), found_here in by_case.items():
        by_file.setdefault(file, []).append((name, found_here))
    for file, cases_here in by_file.items():
        suite = ElementTree.SubElement(root, "testsuite", name=printable(file))
        count = [len(cases_here), 0]
        for name, found_here in cases_here:
            count[1] += _add_case(suite, file, name, kinds.get((file, name), ""), found_here)
        suite.set("tests", str(count[0]))
        suite.set("failures", str(count[1]))
        total = [total[0] + count[0], total[1] + count[1]]
    root.set("tests", str(total[0]))
    root.set("failures", str(total[1]))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_case(suite: ElementTree.Element, file: str, name: str, kind: str, found: Sequence[Diagnostic]) -> int:
    case = ElementTree.SubElement(suite, "testcase", classname=printable(kind or file), name=printable(name or file))
    errors = [each for each in found if each.severity == "error"]
    if errors:
        message = f"{errors[0].code}: {errors[0].message}"
        failure = ElementTree.SubElement(case, "failure", type=errors[0].code, message=printable(message))
        failure.text = printable("\n".join(_line(each) for each in errors))
    warnings = [each for each in found if each.severity != "error"]
    if warnings:
        ElementTree.SubElement(case, "system-out").text = printable("\n".join(_line(each) for each in warnings))
    return int(bool(errors))


def _line(found: Diagnostic) -> str:
    hint = f" ({found.hint})" if found.hint else ""
    return f"{found.file}:{found.line}:{found.column}: {found.severity} {found.code} {found.message}{hint}"
