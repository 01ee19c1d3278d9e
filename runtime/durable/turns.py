"""When the thread of a queue looks for runs: not by its own clock, but when it is told that there are some."""

import threading


class QueueTurn(threading.Event):
    """Stands for the event by which DBOS ends the thread of a queue, and waits between two looks.

    A look is several statements, which cost more than steps do where nothing is queued: one statement for all queues
    comes before (`Watch.look`).
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_over = False

    def call(self) -> None:
        """There is something in the queue."""
        super().set()

    def set(self) -> None:
        """The thread is to end."""
        self._is_over = True
        super().set()

    def is_set(self) -> bool:
        return self._is_over

    def wait(self, timeout: float | None = None) -> bool:
        """Until the queue's turn, however long DBOS would wait; whether the thread is to end."""
        super().wait()
        self.clear()
        return self._is_over
