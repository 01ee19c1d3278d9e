"""A turn as the terminal shows it."""

from runtime.ai.contracts import Image, Text
from runtime.ai.events import MediaMade
from runtime.cli.turn_view import describe_media, measure


def test_results_are_measured_in_bytes_and_images() -> None:
    assert measure("") == "0 B"
    assert measure("größe") == "7 B"
    assert measure("x" * 1234) == "1.2 kB"
    assert measure([Image("aGk=", "image/png")]) == "1 image"
    assert measure([Text("abc"), Image("aGk=", "image/png"), Image("aGk=", "image/png")]) == "3 B and 2 images"


def test_what_a_model_made_is_named_with_its_size() -> None:
    made = MediaMade(
        (Image("aGk=", "image/png"), Image("AAAA" * 4115, "image/webp")),
        ({"type": "web_search_call"}, {"executableCode": {}}),
    )

    assert describe_media(made) == [
        "[image image/png, 2 bytes]",
        "[image image/webp, 12345 bytes]",
        "[not shown: web_search_call]",
        "[not shown: executableCode]",
    ]
