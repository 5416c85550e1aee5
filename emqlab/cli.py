"""The command line: parse, call, print."""

import argparse
import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TextIO

ABOUT = """\
A course and a lab on how the core of a job queue works.

Without a command, emqlab opens the course in your browser."""

RUN = """\
Run cases: each on an empty queue of its own, on one executor or both, and show the replies and what changed.

A PATH is a .json file (a case, or a list of cases), a .jsonl file (one case a line), a folder of such files,
or - for standard input."""

STATUS = """\
exit status: 0 all ran and held; 1 a case did not hold; 2 unusable input; 3 the server was lost"""


class Parser(argparse.ArgumentParser):
    """A parser that answers a mistake with one sentence."""

    def error(self, message: str) -> NoReturn:
        """Print ``message`` on standard error and exit with status 2."""
        self.exit(2, f"{self.prog}: {message} (`{self.prog} --help` shows how it is used)\n")

    def print_help(self, file: Any = None) -> None:
        """Print the help; argparse would keep it to itself that it could not."""
        (file or sys.stdout).write(self.format_help())


def port_number(text: str) -> int:
    """A TCP port, 1 to 65535."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def version() -> str:
    """The installed version of emqlab, or a word for a tree that is not installed."""
    from importlib import metadata

    try:
        return metadata.version("emqlab")
    except metadata.PackageNotFoundError:
        return "(not installed)"


class Version(argparse.Action):
    """``--version``: looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> NoReturn:
        """Print the version and exit."""
        print(f"emqlab {version()}")
        parser.exit()


def course_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``course``; they may stand before the command and after it."""
    suppress = argparse.SUPPRESS
    parser.add_argument(
        "--port", type=port_number, metavar="N", default=suppress, help="the port (default: a free one)"
    )
    parser.add_argument(
        "--no-browser", action="store_true", default=suppress, help="only print the address, open no browser"
    )


def run_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``run``."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a case file, a folder of them, or -")
    parser.add_argument("--executor", choices=["scripted", "native", "both"], default="both", help="default: both")
    parser.add_argument("--server", metavar="embedded|valkey|auto|URL", help="default: $EMQLAB_SERVER, else embedded")
    parser.add_argument(
        "--native",
        choices=["module", "optimistic"],
        default="module",
        help="on a real server (valkey or a URL): its module (default), or the same verbs run by the client",
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON per case and executor")


def parser() -> Parser:
    """The whole command line."""
    top = Parser(prog="emqlab", description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", nargs=0, action=Version, help="print the version and exit")
    course_options(top)
    top.set_defaults(call=call_course)
    commands = top.add_subparsers(title="commands", metavar="COMMAND")

    course = commands.add_parser("course", help="open the course (the same as no command)")
    course_options(course)
    course.set_defaults(call=call_course)

    run = commands.add_parser(
        "run",
        help="run cases and compare the executors",
        description=RUN,
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run_options(run)
    run.set_defaults(call=call_run)

    from emqlab.audit import options as audit_options
    from emqlab.bench import options as bench_options
    from emqlab.native.module.command import native_options
    from emqlab.parity import options as parity_options
    from emqlab.serve import serve_options

    parity = commands.add_parser(
        "parity",
        help="measure where the executors agree and where they don't",
        description=parity_options.ABOUT,
        epilog=parity_options.STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parity_options.parity_options(parity)
    parity.set_defaults(call=call_parity)

    audit = commands.add_parser(
        "audit",
        help="look at a queue for what stops or loses work",
        description=audit_options.ABOUT,
        epilog=audit_options.STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit_options.audit_options(audit)
    audit.set_defaults(call=call_audit)

    serve = commands.add_parser("serve", help="start a server with the verbs, for your own client")
    serve_options(serve)
    serve.set_defaults(call=call_serve)

    bench = commands.add_parser(
        "bench",
        help="measure the verbs, scripted against native",
        description=bench_options.ABOUT,
        epilog=bench_options.STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    bench_options.bench_options(bench)
    bench.set_defaults(call=call_bench)

    native_options(commands.add_parser("native", help="build the native verbs as a module that a server loads"))

    doctor = commands.add_parser("doctor", help="look at this machine: what is there, what it makes possible")
    doctor.add_argument("--json", action="store_true", help="one JSON object")
    doctor.set_defaults(call=call_doctor)
    return top


def call_course(options: argparse.Namespace) -> int:
    """``emqlab course``."""
    from emqlab.course import open_course
    from emqlab.reader import CannotOpen

    try:
        return open_course(port=getattr(options, "port", None), browser=not getattr(options, "no_browser", False))
    except CannotOpen as error:
        print(f"emqlab: {error}", file=sys.stderr)
        return 1


def call_run(options: argparse.Namespace) -> int:
    """``emqlab run``."""
    from emqlab.parity.command import run

    with ended_by_signals():
        return run(
            options.paths,
            executor=options.executor,
            server=options.server,
            native=options.native,
            as_json=options.json,
        )


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """For the length of a ``with`` block, have a kill and a closed terminal raise SystemExit, so that it cleans up.

    The status is the shell's: 143, 129. What is ignored (by nohup, say) stays so.
    """

    def end(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        for number, handler in before.items():
            if handler != signal.SIG_IGN:
                signal.signal(number, end)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def call_parity(options: argparse.Namespace) -> int:
    """``emqlab parity``."""
    from emqlab.parity.measure import parity

    with ended_by_signals():
        return parity(
            layers=options.layers,
            server=options.server,
            seed=options.seed,
            minutes=options.minutes,
            share=options.share,
            plant=options.plant,
            plants=options.plants,
            index=options.index,
            page=options.page,
            as_json=options.json,
        )


def call_audit(options: argparse.Namespace) -> int:
    """``emqlab audit``."""
    from emqlab.audit.command import audit

    with ended_by_signals():
        return audit(options.queues, server=options.server, case=options.case, as_json=options.json)


def call_bench(options: argparse.Namespace) -> int:
    """``emqlab bench``."""
    from emqlab.bench.command import bench

    return bench(
        server=options.server,
        verbs=options.verbs,
        rounds=options.rounds,
        chart=options.chart,
        memory=options.memory,
        as_json=options.json,
    )


def call_serve(options: argparse.Namespace) -> int:
    """``emqlab serve``."""
    from emqlab.serve import serve

    return serve(port=getattr(options, "port", None), socket=options.socket, data=options.data)


def call_doctor(options: argparse.Namespace) -> int:
    """``emqlab doctor``."""
    from emqlab.doctor import report

    return report(as_json=options.json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (``sys.argv`` by default) and answer its exit status.

    Raises ``SystemExit``, as argparse does, for ``--help``, ``--version`` and wrong usage.
    """
    # Without a standard error (a window without a terminal) what is said there is said to nobody.
    with contextlib.redirect_stderr(sys.stderr or io.StringIO()):
        if sys.stdout is None:
            return _no_output("standard output is closed")
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A case's name may hold what this terminal's encoding has no sign for.
                stream.reconfigure(errors="backslashreplace")
        try:
            return _flushed(arguments)
        except KeyboardInterrupt:
            return 130
        except BrokenPipeError:
            # Nobody reads any more (`emqlab run … | head`).
            _discard(sys.stdout)
            return 141
        except OSError as error:
            if error.filename is not None or error.errno not in _OUTPUT_LOST:
                raise
            _discard(sys.stdout)
            return _no_output(f"the output can't be written: {error.strerror}")


#: How writing to standard output fails: it is full, or broken, or was opened for reading only.
_OUTPUT_LOST = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def _flushed(arguments: Sequence[str] | None) -> int:
    try:
        options = parser().parse_args(arguments)
        call: Callable[[argparse.Namespace], int] = options.call
        return call(options)
    finally:
        sys.stdout.flush()


def _no_output(why: str) -> int:
    try:
        print(f"emqlab: {why}; send it to a file with room, or to a terminal", file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr)
    return 2


def _discard(stream: TextIO) -> None:
    """Lead a broken stream nowhere, for Python's own flush at exit must find an open file."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
