"""A turn as the terminal shows it."""

from runtime.ai.contracts import Image, Text
from runtime.cli.turn_view import measure


def test_results_are_measured_in_bytes_and_images() -> None:
    assert measure("") == "0 B"
    assert measure("größe") == "7 B"
    assert measure("x" * 1234) == "1.2 kB"
    assert measure([Image("aGk=", "image/png")]) == "1 image"
    assert measure([Text("abc"), Image("aGk=", "image/png"), Image("aGk=", "image/png")]) == "3 B and 2 images"
