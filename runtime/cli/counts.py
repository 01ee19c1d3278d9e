"""Whole numbers of a command line."""

from argparse import ArgumentTypeError
from collections.abc import Callable


def count(least: int, most: int | None = None) -> Callable[[str], int]:
    """Reads a whole number within bounds, for `type=` of an argument."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            raise ArgumentTypeError(f'"{text}" is no whole number from {least}' + (f" to {most}" if most else ""))
        return int(text)

    return read
