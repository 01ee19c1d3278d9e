"""Print the set of manifests as it will be: variables and files in place, aliases written out, secrets masked."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `--help` of this command must not pay for what it needs
    from runtime.checks import Checked
    from runtime.resource_set import Resource


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime config`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--no-interpolate", action="store_true", help="leave expressions as they stand")
    parser.add_argument("--hash", action="store_true", help="print the digest of each resource's definition instead")
    parser.add_argument("--output", choices=("yaml", "json"), default="yaml", help="manifests again, or JSON")
    parser.add_argument("--quiet", action="store_true", help="tell no warnings")


def run(options: Namespace) -> int:
    """0; 1 where the set is invalid or a variable has no value."""
    from runtime.cli.reading import read_checked

    checked = read_checked(options)
    named = [resource for resource, _ in checked.resources.known() if resource.owner is None]
    if options.hash:
        _print_hashes(named, options)
        return 0
    shown = list(_show(checked, named, options))
    if options.output == "json":
        from runtime.cli.output import print_json

        print_json([_write_tags(each, lambda tag, text: {tag: text}) for each in shown])
        return 0
    from runtime.cli.output import write
    from runtime.yaml_text import Tagged, quote, write_key, write_mapping

    def write_tag(tag: str, text: str) -> Tagged:
        return Tagged(f"{tag} {quote(text) if tag == '!cel' else write_key(text)}")

    texts = (
        "".join(f"{line}\n" for line in write_mapping(_write_tags(each, write_tag), 0, is_sorted=False))
        for each in shown
    )
    write("---\n".join(texts))
    return 0


def _print_hashes(named: "list[Resource]", options: Namespace) -> None:
    from runtime.cli.output import print_json, write
    from runtime.lock.definition import digest_definition

    hashes = {str(resource.name): digest_definition(resource) for resource in named}
    if options.output == "json":
        print_json(hashes)
        return
    width = max(map(len, hashes), default=0)
    write("".join(f"{name:<{width}}  {digest}\n" for name, digest in hashes.items()))


def _show(checked: "Checked", named: "list[Resource]", options: Namespace) -> Iterator[dict[str, Any]]:
    """The documents, `kind` and `metadata` first. Raises ManifestError for variables without a value."""
    from runtime.errors import ManifestError
    from runtime.preview import Preview

    preview = Preview(checked, named, interpolates=not options.no_interpolate)
    if preview.missing:
        from runtime.cli.reading import print_found

        print_found(checked, preview.missing, options)
        raise ManifestError(preview.missing)
    for resource in named:
        fields = preview.fields(resource)
        yield {"kind": fields.pop("kind"), "metadata": fields.pop("metadata"), **fields}


def _write_tags(value: Any, write: Callable[[str, str], Any]) -> Any:
    """The value with what `write` makes of tag and text in the place of references and of what waits for a value."""
    from runtime.manifest import Expression, Include, Ref

    if isinstance(value, Ref):
        return write("!ref", value.name)
    if isinstance(value, Include):
        return write("!include-text", str(value))
    if isinstance(value, Expression):
        return write("!cel", str(value)) if value.is_tagged else str(value)
    if isinstance(value, str) and "${{" in value:
        return write("!cel", _literal(value))  # text that was put in place is not evaluated again
    if isinstance(value, dict):
        return {key: _write_tags(item, write) for key, item in value.items()}
    return [_write_tags(item, write) for item in value] if isinstance(value, list) else value


def _literal(text: str) -> str:
    """The expression that gives a text: CEL reads the strings of JSON."""
    import msgspec

    return msgspec.json.encode(text).decode()
