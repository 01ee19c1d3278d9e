"""When a request to a model provider is repeated, after which wait, and how often."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from runtime.errors import ModelError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

LONGEST_WAIT = 120.0
"""Seconds that a provider may ask us to wait before a retry; after a longer `Retry-After` there is none."""

RETRIED = frozenset((408, 409, 429))


class Retries(Struct, frozen=True):
    """How often, and how long to wait: `first` seconds, doubling to `longest`, less up to a quarter."""

    count: int = 2
    first: float = 0.5
    longest: float = 8.0

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds before the retry after the given attempt, the first of which is 0: what the provider asked, if so."""
        if asked is not None:
            return asked
        import random  # takes longer to import than all of this module, for what is seldom needed

        return float(min(self.first * 2**attempt, self.longest) * (1 - random.random() / 4))


class Unanswered(Exception):
    """A request that was not accepted: the `failure` to raise if it is not repeated, and the seconds that the provider
    asked to wait before it is."""

    def __init__(self, failure: ModelError, *, may_retry: bool, asked: float | None = None) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.may_retry = may_retry and (asked is None or asked <= LONGEST_WAIT)
        self.asked = asked


async def retry(
    attempt: Callable[[], Awaitable[T]], failed: Unanswered, rules: Retries, tell: Callable[[str, float], None]
) -> T:
    """What a further attempt gives; raises the last one's `failure`.

    `failed` is how the first attempt ended: this module's library is imported only for runs that need a second one.
    `tell` gets a message before each wait, and its seconds.
    """
    import anyio
    from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

    first = [failed]

    async def attempt_again() -> T:
        if first:
            raise first.pop()
        return await attempt()

    def find_wait(state: "RetryCallState") -> float:
        return rules.wait(state.attempt_number - 1, _failure_of(state).asked)

    def tell_wait(state: "RetryCallState") -> None:
        wait = state.upcoming_sleep
        message = _failure_of(state).failure.message
        tell(f"{message}; retry {state.attempt_number} of {rules.count} in {wait:.1f} s", wait)

    retrying = AsyncRetrying(
        sleep=anyio.sleep,
        stop=stop_after_attempt(rules.count + 1),
        wait=find_wait,
        retry=retry_if_exception(lambda error: isinstance(error, Unanswered) and error.may_retry),
        before_sleep=tell_wait,
        reraise=True,
    )
    try:
        return await retrying(attempt_again)
    except Unanswered as error:
        raise error.failure from error.failure.__cause__


def _failure_of(state: "RetryCallState") -> Unanswered:
    error = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(error, Unanswered)  # nothing else is waited after
    return error


def may_retry(status: int, headers: Mapping[str, str]) -> bool:
    """The rule of the official clients: what the provider says in `x-should-retry`, else the status."""
    said = headers.get("x-should-retry")
    if said in ("true", "false"):
        return said == "true"
    return status in RETRIED or status >= 500


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from `retry-after-ms`, or `Retry-After` as seconds or as a date (RFC 9110, section 10.2.3)."""
    for header, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(header)
        if value is None:
            continue
        try:
            return _read_seconds(value) / scale
        except ValueError:
            pass
        if scale == 1:
            return _seconds_until(value)
    return None


def _read_seconds(text: str) -> float:
    seconds = float(text)
    if seconds != seconds:
        raise ValueError("it is no number")
    return max(seconds, 0.0)


def _seconds_until(date: str) -> float | None:
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        return max((parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None


def read_retry_delay(body: bytes) -> float | None:
    """Seconds, from the `RetryInfo` of an error of Google's APIs (https://google.aip.dev/193), such as `34.5s`."""
    if b"google.rpc.RetryInfo" not in body:
        return None
    try:
        value = msgspec.json.decode(body)
        errors = value if isinstance(value, list) else [value]
        details = [each for error in errors for each in error["error"]["details"]]
        delay = next(each["retryDelay"] for each in details if str(each["@type"]).endswith("google.rpc.RetryInfo"))
        return _read_seconds(str(delay).removesuffix("s"))
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError, StopIteration):
        return None  # the provider's word is all that could be had of it
