"""A language server for editors, over standard input and output: findings, completion, hover, definition, rename."""

import gc
import os
import sys
from argparse import ArgumentParser, Namespace

INSTALL = 'python -m pip install "manifest-runtime[lsp]"'


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime lsp`."""
    parser.add_argument("--stdio", action="store_true", help="speak over standard input and output; it always does")


def run(options: Namespace) -> int:
    """0 when the editor has ended the service."""
    try:
        from runtime.lsp.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "runtime":
            raise
        from runtime.errors import UsageError

        raise UsageError(f'the language server needs the package "{error.name}"', hint=INSTALL) from error
    sys.stdout.flush()
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what kinds of other people print must not get between our messages
    gc.enable()  # the command line turned it off for its start
    make_server().start_io(sys.stdin.buffer, protocol)
    return 0
