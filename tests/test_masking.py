"""Secrets never come out: as they are, in base64, in URLs, in JSON, in pieces."""

import base64
import json
import re
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runtime.masking import MASK, Masker, StreamMasker, mask_json

SECRETS = st.text(min_size=8, max_size=40).filter(lambda text: len(text.strip()) >= 8 and text == text.strip())
AROUND = st.text(max_size=20)


@given(secret=SECRETS, before=AROUND, after=AROUND)
@example(secret='q"uo/te\\d\n+ü', before="", after="")
@example(secret="1234-5678/90+=", before="x", after="y")
def test_no_form_of_a_secret_is_left(secret: str, before: str, after: str) -> None:
    masker = Masker([secret])
    ascii_json, plain_json = json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
    percent = quote(secret.encode("utf-8", "surrogatepass"), safe="") if _is_text(secret) else ""
    forms = [secret, ascii_json, plain_json, ascii_json.replace("/", "\\/")]
    if percent:
        forms += [percent, quote(secret), quote_plus(secret), re.sub("%..", lambda code: code[0].lower(), percent)]

    for form in forms:
        assert form not in masker(f"{before}{form}{after}")
        assert MASK in masker(f"{before}{form}{after}")


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@given(secret=st.binary(min_size=12, max_size=40), before=st.binary(max_size=9), after=st.binary(max_size=9))
def test_base64_of_something_that_holds_a_secret_does_not_show_it(secret: bytes, before: bytes, after: bytes) -> None:
    text = secret.hex()
    masker = Masker([text])

    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        shown = masker(encode(before + text.encode() + after).decode())
        assert MASK in shown
        kept = max(shown.split(MASK), key=len)
        assert len(kept) <= len(encode(before + after)) + 8  # what stood around it, and the characters on the borders


@pytest.mark.parametrize(
    ("secret", "text", "masked"),
    [
        ("hush-hush", "say hush-hush twice: hush-hushhush-hush", "say *** twice: ******"),
        ("hush", "hushed", "***ed"),
        ("abc", "abc", "abc"),
        ("  padded secret\n", "padded secret", "***"),
        ("first line of it\nsecond line of it", "> second line of it", "> ***"),
        ("first line of it\nab", "ab", "ab"),
    ],
)
def test_masking(secret: str, text: str, masked: str) -> None:
    assert Masker([secret])(text) == masked


def test_the_longest_of_several_secrets_goes_first() -> None:
    assert Masker(["token", "token-and-more"])("token-and-more token") == "*** ***"


def test_without_secrets_a_text_is_left_alone() -> None:
    assert Masker()("anything") == "anything"
    assert Masker(["", "a"])("a text") == "a text"


@given(
    secret=SECRETS,
    texts=st.lists(st.text(max_size=10), max_size=4),
    cuts=st.lists(st.integers(0, 80), max_size=8),
)
def test_a_secret_that_comes_in_pieces_is_masked(secret: str, texts: list[str], cuts: list[int]) -> None:
    whole = secret.join(["", *texts, ""])
    places = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    masker = Masker([secret])
    stream = StreamMasker(masker)

    shown = "".join(stream.feed(whole[start:end]) for start, end in pairwise(places)) + stream.flush()

    assert secret not in shown
    assert shown == masker(whole)


def test_json_is_masked_wherever_a_text_stands() -> None:
    value = {"a": ["hush-hush", 1, None, {"hush-hush": True}], "b": "say hush-hush"}

    assert mask_json(value, Masker(["hush-hush"])) == {"a": ["***", 1, None, {"***": True}], "b": "say ***"}
