"""What DBOS logs: nothing of it goes to the terminal, where it would advertise its console; faults go to our log."""

import logging
from collections.abc import Callable

_LOGGER = logging.getLogger("dbos")


class _Forward(logging.Handler):
    """Its warnings and errors, one line each, for `--verbose`."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.log: Callable[[str], None] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.log is not None:
            cause = f": {record.exc_info[1]}" if record.exc_info and record.exc_info[1] is not None else ""
            self.log(f"{record.getMessage()}{cause}".replace("\n", " "))


_FORWARD = _Forward()


def quiet_logs(log: Callable[[str], None] | None = None) -> None:
    """From here on `log` gets what there is to tell. To be called before DBOS starts, which finds a handler then."""
    _LOGGER.propagate = False
    _LOGGER.handlers = [_FORWARD]
    _FORWARD.log = log
