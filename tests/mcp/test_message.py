"""JSON texts of servers: what is read, what is mended, what is refused."""

import pytest

from runtime.mcp.message import Malformed, decode, encode, find_answered, is_deeper, read_id


@pytest.mark.parametrize(
    "data, value",
    [
        (b'{"a": [1, 2.5, null, true]}', {"a": [1, 2.5, None, True]}),
        (b' {"a": 1} \r', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'"a\xffb"', "a\N{REPLACEMENT CHARACTER}b"),
        (b'"\\ud83d\\ude00 \\ud800"', "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"),
        (b"[NaN, Infinity, -Infinity, 1e400]", [None, None, None, None]),
        (b'"a\x01b"', "a\x01b"),
        (b"1000000000000000000000000", 10**24),
        (b'{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_a_text_is_read_leniently(data, value):
    assert decode(data) == value


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1,]", b"nonsense", b"[" * 501 + b"]" * 501, b"[" * 100_000 + b"]" * 100_000, b"9" * 5000]
)
def test_what_is_no_json_or_too_deep_is_malformed(data):
    with pytest.raises(Malformed):
        decode(data)


def test_many_brackets_side_by_side_are_not_deep():
    assert decode(b"[" + b"[]," * 1000 + b"[]]") == [[]] * 1001


@pytest.mark.parametrize(
    "data, is_deep",
    [
        (b"[" * 10 + b"]" * 10, False),
        (b"[" * 11 + b"]" * 11, True),
        (b'{"a":' * 11 + b"1" + b"}" * 11, True),
        (b'{"a":[' + b'{"b":[]},' * 50 + b"1]}", False),
        (b'["' + b"[" * 50 + b'", "\\"]', False),
        (b'["' + b'\\"[{' * 50 + b'", []]', False),
        (b"[" * 11 + b'"]"' + b"]" * 11, True),
    ],
)
def test_depth_is_counted_outside_of_texts(data, is_deep):
    assert is_deeper(data, 10) == is_deep


def test_text_that_utf8_cannot_hold_is_replaced_when_sent():
    assert encode({"a": "x\ud800y"}) == b'{"a": "x?y"}'


@pytest.mark.parametrize(
    "head, tail, id",
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"content":[', b"", 7),
        (b' { "id" : "7" , "result"', b"", 7),
        (b'{"result":{"x":"', b'"},"id":7,"jsonrpc":"2.0"}', 7),
        (b'{"result":{"id":5,', b'"},"id":7}\r', 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"', b"", None),
        (b'{"result":{"id":5,"x":"', b"", None),
        (b"AAAA", b"AAAA", None),
    ],
)
def test_a_lost_answer_is_known_by_its_first_or_last_bytes(head, tail, id):
    assert find_answered(head, tail) == id


@pytest.mark.parametrize("value, id", [(3, 3), ("3", 3), (3.0, 3), (True, None), (1.5, None), ("x", None), ({}, None)])
def test_an_id_is_a_number_however_it_is_spelt(value, id):
    assert read_id(value) == id
