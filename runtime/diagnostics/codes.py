"""Every code of a diagnostic, once: its severity, what it says, and what to do about it."""

from typing import NamedTuple


class Code(NamedTuple):
    """What a code means: `summary` is a phrase, `help` tells how to mend the manifest."""

    severity: str
    summary: str
    help: str


def _error(summary: str, help: str) -> Code:
    return Code("error", summary, help)


def _warning(summary: str, help: str) -> Code:
    return Code("warning", summary, help)


CODES: dict[str, Code] = {
    "YAML_SYNTAX": _error(
        "the text is not YAML",
        "Mend the text at the place shown: indent with spaces, quote a string that starts with a special character or "
        "holds a colon and a space, close every bracket and quote. The file has to be UTF-8.",
    ),
    "YAML_DUPLICATE_KEY": _error(
        "a key stands twice in one mapping",
        "Remove one of the two. The first one counts until then.",
    ),
    "YAML_UNKNOWN_TAG": _error(
        "a tag that the manifest language does not have",
        "The tags are !ref, !cel and !include-text, and YAML's !!str, !!int, !!float, !!bool, !!null, !!map, !!seq.",
    ),
    "YAML_TOO_LARGE": _error(
        "a document is nested too deeply or grows too large",
        "A document may have 100 levels, 100000 values with its aliases expanded, and 1 MiB of text.",
    ),
    "DOCUMENT_NOT_MAPPING": _error(
        "a document is not a mapping",
        "A document declares one resource: a mapping with `kind` and `metadata.name`.",
    ),
    "KIND_MISSING": _error("a resource has no kind", "Add `kind: Module.Name`."),
    "NAME_MISSING": _error("a resource has no name", "Add `metadata: { name: ... }`."),
    "NAME_INVALID": _error(
        "a name is not made of letters, digits and underscores",
        "A name starts with a letter or an underscore and goes on with letters, digits and underscores.",
    ),
    "APPLICATION_DUPLICATE": _error(
        "a set has two application documents", "Merge them: a set of manifests has one application document at most."
    ),
    "NAME_DUPLICATE": _error("two resources share a name", "Rename one of them: `!ref` means the first."),
    "KIND_UNKNOWN": _error(
        "there is no such kind",
        "Check the spelling, or import the module that has the kind on the application document.",
    ),
    "KIND_ABSTRACT": _error(
        "a contract is used as a kind", "A contract says what a slot takes. Name one of the kinds that implement it."
    ),
    "IMPORT_INVALID": _error(
        "an import brings in no kinds",
        "An import names a module that ships with the runtime, or a local file or folder of kinds or functions.",
    ),
    "SCHEMA_REQUIRED": _error("a required field is missing", "Add the field."),
    "SCHEMA_UNKNOWN_FIELD": _error(
        "a field that the kind does not have", "Check the spelling; `runtime explain KIND` lists the fields."
    ),
    "SCHEMA_TYPE": _error(
        "a value has the wrong type",
        "Nothing is converted in silence: quote a number or a boolean that is meant as text.",
    ),
    "SCHEMA_VALUE": _error(
        "a value is outside what the field takes", "Use a value that the message names, or one inside the bounds."
    ),
    "REF_UNRESOLVED": _error(
        "a reference names no resource of the set", "Check the name, or apply the manifest that declares it as well."
    ),
    "REF_KIND_MISMATCH": _error(
        "the resource referred to does not fit the slot", "Refer to a resource of a kind that the slot takes."
    ),
    "REF_EXPECTED": _error("a slot holds a plain value", "Write `!ref Name`, or declare the resource inline."),
    "REF_MISPLACED": _error("a reference stands in a field that is no slot", "Only slots take `!ref`."),
    "REF_CYCLE": _error(
        "resources depend on each other in a circle", "Take out one of the references of the circle that is shown."
    ),
    "CEL_SYNTAX": _error(
        "an expression cannot be parsed", "Expressions are written in the Common Expression Language (CEL)."
    ),
    "CEL_TYPE": _error(
        "an expression has the wrong type", "Convert the value, for example with `string(...)` or `int(...)`."
    ),
    "CEL_UNKNOWN_NAME": _error(
        "an expression names something that is not in scope",
        "In scope are `variables`, `secrets` and `metadata`, and in a tool `arguments` or `result`.",
    ),
    "CEL_MISPLACED": _error("an expression stands in a field that is not evaluated", "Write the value itself."),
    "VALUE_MISSING": _error(
        "a secret or a variable has no value", "Set the environment variable, put it into `.env`, or declare a default."
    ),
    "VALUE_INVALID": _error(
        "a value does not fit its declaration", "Change the value, or the type and the keywords it is declared with."
    ),
    "SECRET_LITERAL": _warning(
        "something that looks like a credential is written into the manifest",
        "Take it out and refer to it: `${{ secrets.name }}` reads the environment variable NAME.",
    ),
    "SECRET_UNUSED": _warning("a secret is declared and used nowhere", "Remove the declaration."),
    "VARIABLE_UNUSED": _warning("a variable is declared and used nowhere", "Remove the declaration."),
    "RESOURCE_UNUSED": _warning("nothing refers to a resource", "Refer to it, or remove it."),
    "INCLUDE_NOT_FOUND": _error("an included file is not there", "Paths are relative to the manifest's folder."),
    "INCLUDE_OUTSIDE": _error(
        "an included file lies outside the manifest's folder", "Move the file into the manifest's folder."
    ),
    "COMMAND_NOT_FOUND": _warning("a server's command is not on PATH", "Install it, or write the path of the command."),
    "EXTRA_MISSING": _warning(
        "a kind needs an extra of the runtime that is not installed", "Install it; without it nothing starts."
    ),
    "TOOL_UNKNOWN": _error(
        "a filter names a tool that the locked server does not list",
        "`include` and `exclude` take the names that the server gives its tools, without the prefix, or globs of them. "
        "Where the server has changed, run `runtime lock`.",
    ),
    "TOOL_COLLISION": _error(
        "two tools of one agent end up with the same name",
        "Give one of the entries a `prefix`, or leave the tool out of one with `exclude`.",
    ),
    "TOOL_NAME_INVALID": _error(
        "a tool's name breaks the rules of the agent's model provider",
        "Take another prefix, or leave the tool out with `exclude`.",
    ),
    "TOOL_SCHEMA_LOSSY": _warning(
        "a tool's schema cannot be expressed in full for the agent's model provider",
        "The model is told in words what the schema cannot say, and may send what the server refuses. `runtime tools "
        "--report` tells what is rewritten; `exclude` leaves the tool out.",
    ),
    "TOOL_LIMIT": _error(
        "an agent offers more tools than its model provider takes",
        "Choose among them with `include` or `exclude`, or share them between several agents.",
    ),
    "LOCK_MISSING": _error(
        "a server of the set is not in the lock",
        "Run `runtime lock` and commit the file.",
    ),
    "LOCK_STALE": _error(
        "the definition of a server has changed since it was locked",
        "Run `runtime lock`, look at what has changed, and commit the file.",
    ),
    "PREFIX_INVALID": _error(
        "a prefix breaks the rules for tool names of the agent's model provider",
        "Use letters, digits, `_` and `-`, and leave room for the tool's own name.",
    ),
}
