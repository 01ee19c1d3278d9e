"""Explain a kind, a field of a kind, a contract, or the code of a finding; without an argument, list the kinds."""

from argparse import ArgumentParser, Namespace
from typing import Any


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime explain`."""
    parser.add_argument(
        "subject", nargs="?", metavar="SUBJECT", help="Ai.Agent, Ai.Agent.maxSteps, Mcp.Client or REF_UNRESOLVED"
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="for people, or as JSON")


def run(options: Namespace) -> int:
    """0 when there is such a thing; UsageError (2) otherwise."""
    from runtime.diagnostics import CODES
    from runtime.registry import Registry

    subject = options.subject
    if subject is None:
        _explain_all(Registry(), options)
    elif subject in CODES:
        _explain_code(subject, options)
    elif subject == subject.upper() and "." not in subject:
        from runtime.diagnostics.nearby import nearest
        from runtime.errors import UsageError

        raise UsageError(f'there is no code "{subject}"', hint=nearest(subject, CODES))
    else:
        _explain_kind(Registry(), subject, options)
    return 0


def _explain_all(registry: Any, options: Namespace) -> None:
    from runtime.reference import kinds, refer

    rows = [(entry.name, refer(entry).description.partition("\n")[0]) for entry in kinds(registry)]
    if options.output == "json":
        _print_json([{"kind": name, "description": text} for name, text in rows])
        return
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        print(f"{name:<{width}}  {text}")


def _explain_code(code: str, options: Namespace) -> None:
    from runtime.diagnostics import CODES

    meaning = CODES[code]
    if options.output == "json":
        _print_json({"code": code, **meaning._asdict()})
        return
    print(f"{code} ({meaning.severity}): {meaning.summary}\n\n{meaning.help}")


def _explain_kind(registry: Any, subject: str, options: Namespace) -> None:
    from runtime.errors import UsageError
    from runtime.reference import find_kind, implementers, refer
    from runtime.registry import Contract

    name, field = subject, ""
    if subject.count(".") > 1:
        module, kind, field = subject.split(".", 2)
        name = f"{module}.{kind}"
    found = find_kind(registry, name)
    if isinstance(found, Contract):
        fitting = implementers(registry, found.name)
        if options.output == "json":
            _print_json({"contract": found.name, "kinds": fitting})
            return
        print(f"{found.name} is a contract: a slot that asks for it takes any of {', '.join(fitting)}.")
        return
    reference = refer(found)
    fields = [each for each in reference.fields if not field or _is_at(each.path, field)]
    if field and not fields:
        from runtime.diagnostics.nearby import nearest

        raise UsageError(
            f'"{name}" has no field "{field}"', hint=nearest(field, [each.path for each in reference.fields])
        )
    if options.output == "json":
        _print_json({"kind": name, "description": reference.description, "fields": [_as_data(each) for each in fields]})
        return
    if not field:
        keeps = f"Keeps the contract {', '.join(reference.contracts)}.\n" if reference.contracts else ""
        print(f"{name}\n\n{reference.description}\n{keeps}")
    for each in fields:
        _print_field(each)


def _is_at(path: str, wanted: str) -> bool:
    plain = path.replace("[]", "").replace(".*", "")
    return plain == wanted or plain.startswith(f"{wanted}.")


def _print_field(field: Any) -> None:
    need = "required" if field.is_required else field.shown_default and f"default {field.shown_default}"
    print(f"  {field.path}: {field.type}{f' ({need})' if need else ''}")
    if field.description:
        print(f"      {field.description}")


def _as_data(field: Any) -> dict[str, Any]:
    import msgspec

    data = {
        "path": field.path,
        "type": field.type,
        "required": field.is_required,
        "description": field.description,
        "evaluated": field.is_evaluated,
    }
    return data if field.default is msgspec.UNSET else {**data, "default": field.default}


def _print_json(value: Any) -> None:
    from runtime.cli.output import print_json

    print_json(value)
