"""Which lock a command goes by; cheap to import."""

from argparse import ArgumentParser


def add_lock_argument(parser: ArgumentParser) -> None:
    """Which file is the lock."""
    parser.add_argument("--lock", metavar="FILE", help='the lock file, instead of "runtime.lock" beside the manifest')


def add_locked_arguments(parser: ArgumentParser) -> None:
    """The same, and whether the lock has to be met."""
    add_lock_argument(parser)
    parser.add_argument("--locked", action="store_true", help="every server has to be as the lock has it, or it fails")
