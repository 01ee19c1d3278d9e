"""Draw a set of manifests: its resources and what refers to what, as SVG, Mermaid, DOT or JSON; nothing is started."""

from argparse import ArgumentParser, Namespace

OUTPUTS = ("mermaid", "dot", "svg", "json")


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime graph`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file, a folder, a glob, or - for standard input")
    parser.add_argument("--output", choices=OUTPUTS, default="mermaid", help="the form of the picture (mermaid)")
    parser.add_argument("--quiet", action="store_true", help="tell no warnings")


def run(options: Namespace) -> int:
    """0; 1 where the set is invalid."""
    from runtime.cli.output import print_json, write
    from runtime.cli.reading import read_checked
    from runtime.picture.contents import as_data, drawn_resources, make_picture

    resources = drawn_resources(read_checked(options).resources)
    if options.output == "json":
        print_json(as_data(resources))
        return 0
    picture = make_picture(resources)
    if options.output == "svg":
        from runtime.picture.svg import as_svg

        write(as_svg(picture))
    else:
        from runtime.picture.text import as_dot, as_mermaid

        write((as_mermaid if options.output == "mermaid" else as_dot)(picture))
    return 0
