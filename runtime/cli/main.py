"""Arguments to exit code: picks the command, and is the border where an error becomes a message.

A command's module is imported when it is called for; `--help` must not pay for what a run needs.
"""

import gc
import os
import sys
from collections.abc import Sequence

COMMANDS = {
    "init": "write a manifest to start from",
    "import": "turn another program's configuration into a manifest",
    "apply": "bring a set of manifests up, run what is asked, take everything down",
    "chat": "talk with an agent of a set of manifests",
    "serve": "run a set of manifests as a service: OpenAI-compatible, MCP, plain HTTP",
    "worker": "carry on the queued runs of a set of manifests, beside as many other workers as you like",
    "runs": "list, show, resume, cancel or fork the runs that a store keeps",
    "validate": "prove a set of manifests without starting anything",
    "test": "run the cases of a set of manifests, with no network and no keys",
    "plan": "tell what apply would do, with nothing started",
    "graph": "draw the resources of a set and what refers to what",
    "config": "print the set of manifests as it will be, secrets masked",
    "lock": "record the tools of the set's MCP servers, or tell what has changed",
    "tools": "list the tools that agents offer, in a model provider's own format",
    "explain": "explain a kind, a field, or the code of a finding",
    "schema": "print the JSON Schema of manifests, for editors",
    "lsp": "be a language server for editors",
    "call": "call one tool of an MCP client of the set",
    "resources": "list or read the resources of an MCP client of the set",
    "prompts": "list or get the prompts of an MCP client of the set",
}
_MODULES = {"import": "import_"}
"""The modules of commands whose names are words of Python."""
_INTERNAL = 70


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code (design.md section 9)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = words[0] if words else ""
    if name not in COMMANDS:
        return _without_command(words)
    from runtime.cli.quick_imports import import_msgspec, import_yaml

    import_msgspec()
    import_yaml()
    module = __import__(f"runtime.cli.{_MODULES.get(name, name)}", fromlist=["run"])
    import argparse

    # Finding out how wide the terminal is costs more than parsing, and matters to help alone.
    width = None if {"-h", "--help"} & {*words} else 80
    parser = argparse.ArgumentParser(
        prog=f"runtime {name}",
        description=module.__doc__,
        allow_abbrev=False,
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=width),
    )
    module.add_arguments(parser)
    parser.add_argument("--no-color", action="store_true", help="no colour, as with NO_COLOR in the environment")
    options = parser.parse_args(words[1:])
    return _guarded(module, options)


def run() -> None:
    """The console script. Ends without the interpreter's own tidying: nothing of ours is left for it to do."""
    gc.disable()  # a start makes much and leaves nothing to collect; what goes on for longer turns it on again
    code = main()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        pass
    os._exit(code)


def _guarded(module: object, options: object) -> int:
    from runtime.errors import Error, ManifestError

    try:
        code: int = module.run(options)  # type: ignore[attr-defined]  # every command's module has one
        return code
    except ManifestError as error:
        return error.exit_status
    except Error as error:
        from runtime.cli.output import print_error

        print_error(error)
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output went away: nothing to say, and nobody to say it to
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # replaces what the interpreter flushes at its end
        return 141
    except Exception as error:  # the border: our own fault, told apart from the user's
        if os.environ.get("RUNTIME_TRACEBACK"):
            raise
        print(f"internal error: {type(error).__name__}: {error}", file=sys.stderr)
        print("    hint: this is a fault of the runtime; set RUNTIME_TRACEBACK=1 to see where", file=sys.stderr)
        return _INTERNAL


def _without_command(words: list[str]) -> int:
    if words and words[0] in ("-V", "--version"):
        from runtime.version import VERSION

        print(f"runtime {VERSION}")
        return 0
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0 if words else 2
    print(f'error: there is no command "{words[0]}"', file=sys.stderr)
    from difflib import get_close_matches

    near = get_close_matches(words[0], COMMANDS, 1)
    hint = f'did you mean "{near[0]}"?' if near else f"commands: {', '.join(COMMANDS)}"
    print(f"    hint: {hint}", file=sys.stderr)
    return 2


def _help() -> str:
    width = max(map(len, COMMANDS)) + 2
    rows = "\n".join(f"  {name:<{width}}{text}" for name, text in COMMANDS.items())
    return (
        "usage: runtime COMMAND [arguments]\n\n"
        "A declarative, manifest-driven runtime for AI agents whose tools come from MCP servers.\n\n"
        f"commands:\n{rows}\n\n"
        '"runtime COMMAND --help" tells the arguments of a command. "runtime --version" tells the version.'
    )
