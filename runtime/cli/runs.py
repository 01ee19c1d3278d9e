"""Look at the runs that a store keeps, and decide on them; none is carried on here."""

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from runtime.cli.counts import count
from runtime.cli.output import print_json, write
from runtime.errors import UsageError

if TYPE_CHECKING:
    from runtime.cli.progress import PlainReport
    from runtime.cli.runs_stores import OpenStore

STATES = ("queued", "running", "interrupted", "waiting", "finished", "failed", "cancelled")


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `runtime runs` and of each of its words."""
    words = parser.add_subparsers(dest="word", metavar="WORD", required=True, parser_class=_WordParser)
    one = _add_word(words, "list", "the runs, the newest first", _list)
    one.add_argument("--state", action="append", choices=STATES, default=[], help="only runs of this state; repeatable")
    one.add_argument("--target", metavar="NAME", help="only runs of this agent or task")
    one.add_argument("--limit", type=count(1), default=50, metavar="N", help="most runs that are listed (50)")
    one = _add_word(words, "show", "one run with its steps", _show)
    one.add_argument("--full", action="store_true", help="inputs, outputs and the result at full length")
    one = _add_word(words, "resume", "hand a run to whoever hosts its target", _resume)
    one.add_argument(
        "--uncertain",
        choices=("retry", "skip", "fail"),
        help="of a call that may have been made: make it again, tell the model that nobody knows, or end the run",
    )
    _add_word(words, "cancel", "stop a run for good", _cancel)
    one = _add_word(words, "fork", "a new run with the first steps of this one", _fork)
    one.add_argument(
        "--from", dest="step", type=count(1), required=True, metavar="STEP", help="the first step that is done anew"
    )
    one.add_argument("--id", metavar="NAME", help="the id of the new run; one is made up without it")


def run(options: Namespace) -> int:
    """0 when it was done; 4 where the store has no such run, or does not let it; others as in design.md section 9."""
    from runtime.cli.bringing_up import masked, run_until_signal
    from runtime.cli.runs_stores import find_places, open_stores
    from runtime.masking import Masker

    places, secrets = find_places(options)

    async def work() -> int:
        async with open_stores(places) as stores:
            code: int = await options.work(stores, options)
            return code

    async def main(report: "PlainReport") -> int:
        return await masked(work(), Masker(secrets))

    return run_until_signal(main, options)


class _WordParser(ArgumentParser):
    """Takes options between a run and the manifests after it, which `argparse` does only when it is asked to."""

    _is_within = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._is_within:
            return super().parse_known_args(args, namespace)
        self._is_within = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_within = False


def _add_word(
    words: Any, name: str, text: str, work: "Callable[[list[OpenStore], Namespace], Awaitable[int]]"
) -> ArgumentParser:
    parser: ArgumentParser = words.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.set_defaults(work=work, verbose=False)
    if name != "list":
        parser.add_argument("run", metavar="RUN", help="the id of the run")
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="the manifests whose stores are meant; without, the store of --store"
    )
    parser.add_argument("--store", metavar="URL", help="the address of a store: sqlite:///FILE or postgresql://...")
    parser.add_argument("--quiet", action="store_true", help="no warnings about the manifests")
    parser.add_argument("--output", choices=("text", "json"), default="text", help="a table, or JSON")
    parser.add_argument("--no-color", action="store_true", default=SUPPRESS, help=SUPPRESS)
    return parser


async def _list(stores: "list[OpenStore]", options: Namespace) -> int:
    from runtime.cli.runs_view import as_data, table_of_runs

    found = [
        (store.name, info)
        for store in stores
        for info in await store.list(states=options.state, target=options.target, limit=options.limit)
    ]
    found.sort(key=lambda each: -each[1].created)
    del found[options.limit :]
    if options.output == "json":
        print_json({"runs": [{**as_data(info), "store": name} for name, info in found]})
    else:
        write(table_of_runs(found, has_names=len(stores) > 1))
    return 0


async def _show(stores: "list[OpenStore]", options: Namespace) -> int:
    from runtime.cli.runs_stores import find_store
    from runtime.cli.runs_view import details_as_data, text_of_run

    store = await find_store(stores, options.run)
    details = await store.ledger.show(options.run)
    if options.output == "json":
        print_json({**details_as_data(details), "store": store.name})
    else:
        write(text_of_run(details, _words_of_place(options), is_full=options.full))
    return 0


async def _resume(stores: "list[OpenStore]", options: Namespace) -> int:
    from runtime.cli.runs_stores import find_store

    store = await find_store(stores, options.run)
    info = await store.ledger.info(options.run)
    if options.uncertain and (info.wait is None or info.wait.code != "ERR_DURABLE_UNCERTAIN"):
        raise UsageError(
            f'the run "{info.id}" waits for no decision on a call: it is {info.state}',
            hint='leave "--uncertain" out',
        )
    if info.wait is not None and info.wait.code == "ERR_DURABLE_UNCERTAIN" and not options.uncertain:
        raise UsageError(
            f'the run "{info.id}" waits for a decision: {info.wait.message}',
            hint='add "--uncertain retry", "skip" or "fail"',
        )
    await store.ledger.resume(options.run, uncertain=options.uncertain)
    return await _tell(store, options, "resumed")


async def _cancel(stores: "list[OpenStore]", options: Namespace) -> int:
    from runtime.cli.runs_stores import find_store

    store = await find_store(stores, options.run)
    await store.ledger.cancel(options.run)
    return await _tell(store, options, "cancelled")


async def _fork(stores: "list[OpenStore]", options: Namespace) -> int:
    from runtime.cli.runs_stores import find_store

    store = await find_store(stores, options.run)
    options.run = await store.ledger.fork(options.run, options.step, new_id=options.id)
    return await _tell(store, options, "forked")


async def _tell(store: "OpenStore", options: Namespace, done: str) -> int:
    """What became of the run that `options.run` names."""
    from runtime.cli.runs_view import as_data, say_state

    info = await store.ledger.info(options.run)
    if options.output == "json":
        print_json({**as_data(info), "store": store.name})
    elif done == info.state:
        write(f"{info.id} {done}\n")
    else:
        write(f"{info.id} {done}: {say_state(info)}\n")
    return 0


def _words_of_place(options: Namespace) -> str:
    """What of the command line says where the run is, for the next command."""
    import shlex

    words = ["--store", options.store] if options.store and "@" not in options.store else options.paths
    return "".join(f" {shlex.quote(word)}" for word in words)
