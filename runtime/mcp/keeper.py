"""The keeper (Linux): a small program between the runtime and one server, so that nothing outlives the run.

    python -I -S keeper.py RUNTIME_PID -- COMMAND ARG...

It is the subreaper of all that the server starts, so that daemons come back to it; it watches the runtime through a
pidfd, so that it acts also when the runtime is killed with SIGKILL; and it asks the kernel to kill the server should
the keeper itself be killed. Pipes go straight through: the keeper touches no data. Its exit status is the server's.

SIGTERM: SIGTERM to the whole tree, a second, then SIGKILL. SIGUSR1: SIGKILL at once. The file must start fast, so it
imports as little as it can and nothing of ours.
"""

import sys

try:
    import posix as os  # what `os` is made of on Linux: `os` itself would be a fifth of the keeper's start
except ImportError:
    import os  # type: ignore[no-redef]  # where no keeper runs, and only what is defined here is wanted

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
POLITE_ON_SIGNAL, POLITE_ON_ORPHAN, POLITE_ON_EXIT = 1.0, 0.4, 0.4  # seconds between SIGTERM and SIGKILL
MARK = "runtime keeper:"  # begins the line on stderr that says why the command could not be run


def prctl(option: int, value: int) -> None:
    """By way of the C module under ctypes: a third of the keeper's start would go into ctypes itself."""
    import _ctypes

    program = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # None is the program itself
    address = _ctypes.dlsym(program, "prctl")
    if _ctypes.call_function(address, (option, value, 0, 0, 0)) != 0:
        raise OSError("prctl failed")


def list_children(pid: int) -> list[int]:
    """Direct children, from the kernel's own list, or by a look at all processes where there is none."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as stream:
                found += [int(child) for child in stream.read().split()]
    except OSError:
        if not os.access("/proc/thread-self/children", os.F_OK):
            return scan_children(pid)
    return found


def scan_children(pid: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as stream:
                    if int(stream.read().rpartition(b")")[2].split()[1]) == pid:
                        found.append(int(entry))
            except OSError:
                continue  # it ended meanwhile
    return found


def list_descendants(pid: int) -> list[int]:
    found: list[int] = []
    todo = [pid]
    while todo:
        children = list_children(todo.pop())
        found += children
        todo += children
    return found


def signal_all(pids: "list[int] | set[int]", number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue  # it ended meanwhile


def start_server(argv: list[str], signals: tuple[int, ...]) -> int:
    """Fork the server into a session of its own; it dies with the keeper. Returns its pid."""
    import _signal as signal  # type: ignore[import-not-found]

    keeper = os.getpid()
    server = os.fork()
    if server:
        return server
    try:
        os.setsid()  # so that `kill 0` in the server does not reach the keeper
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(125)
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
        os.execv(argv[0], argv)
    except OSError as error:
        os.write(2, f"{MARK} {error.strerror or error}\n".encode())
        os._exit(127 if error.errno == 2 else 126)
    finally:
        os._exit(126)


class Keeper:
    """The state between two events: the server's exit status, and when to stop being polite."""

    def __init__(self, server: int) -> None:
        self.server = server
        self.status: int | None = None
        self.deadline: float | None = None

    def reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.server:
                self.status = status

    def ask_to_end(self, polite: float) -> None:
        """SIGTERM to all that is left, and the time after which SIGKILL follows."""
        import _signal as signal
        import time

        end = time.monotonic() + polite
        self.deadline = end if self.deadline is None else min(end, self.deadline)
        left = list_descendants(os.getpid())
        signal_all(left, signal.SIGTERM)
        signal_all(left, signal.SIGCONT)  # a stopped process must see it

    def kill_all(self, rounds: int = 200) -> None:
        """Freeze the tree until it no longer grows, then kill it; again until no child is left."""
        import _signal as signal
        import time

        me = os.getpid()
        for _ in range(rounds):
            known: set[int] = set()
            for _ in range(50):
                grown = set(list_descendants(me)) - known
                if not grown:
                    break
                signal_all(grown, signal.SIGSTOP)
                known |= grown
            signal_all(known, signal.SIGKILL)
            for _ in range(100):
                self.reap()
                if not list_children(me):
                    return
                time.sleep(0.005)


def keep(runtime: int, argv: list[str]) -> int:
    """Run argv; end all that came of it when it exits, when told to, or when the runtime is gone."""
    import _signal as signal  # the C module: `signal` would load enum, as dear as the interpreter

    prctl(PR_SET_CHILD_SUBREAPER, 1)
    watch = os.pidfd_open(runtime)
    if os.getppid() != runtime:  # it died before the pidfd was open
        return 125
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    told = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGCHLD)
    for number in signals:
        signal.signal(number, lambda *_: None)
    keeper = Keeper(start_server(argv, signals))
    import select  # from here on the server starts, and nothing is urgent
    import time

    null = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):  # let go of the pipes: end of file and broken pipe must work as without a keeper
        os.dup2(null, descriptor)

    poll = select.poll()
    poll.register(watch, select.POLLIN)
    poll.register(wake, select.POLLIN)
    while True:
        now = time.monotonic()
        events = dict(poll.poll(None if keeper.deadline is None else max(0.0, keeper.deadline - now) * 1000))
        received = set(os.read(wake, 512)) if wake in events else set()
        keeper.reap()
        if watch in events:
            poll.unregister(watch)
            keeper.ask_to_end(POLITE_ON_ORPHAN)
        elif received & told:
            keeper.ask_to_end(POLITE_ON_SIGNAL)
        elif keeper.status is not None and keeper.deadline is None and list_children(os.getpid()):
            keeper.ask_to_end(POLITE_ON_EXIT)
        late = keeper.deadline is not None and time.monotonic() >= keeper.deadline
        if signal.SIGUSR1 in received or late:
            keeper.kill_all()
        if not list_children(os.getpid()):
            break
    if keeper.status is None:
        return 124
    if os.WIFSIGNALED(keeper.status):
        return 128 + os.WTERMSIG(keeper.status)
    return os.WEXITSTATUS(keeper.status)


if __name__ == "__main__":
    os._exit(keep(int(sys.argv[1]), sys.argv[3:]))
