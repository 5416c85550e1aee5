"""``emqlab native build``: the module as a file, for a server of the reader's own."""

import argparse
import json
import shlex
import shutil
import sys
from pathlib import Path

BUILT, UNUSABLE = 0, 2

BUILD = """\
Build the native verbs as a module that Valkey (8 or newer) and Redis (7.0 or newer) can load, and say where it is.

It is built once and kept; a second time, or with a wheel that carries it, this only prints."""


def native_options(parser: argparse.ArgumentParser) -> None:
    """Add the commands of ``native``; each sets ``call``, which takes the options and answers the exit status."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    build_parser = commands.add_parser(
        "build",
        help="build the module that a server loads",
        description=BUILD,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    build_parser.add_argument("--output", metavar="FILE", help="also copy the module to FILE")
    build_parser.add_argument("--json", action="store_true", help="one JSON object")
    build_parser.set_defaults(call=lambda options: build(output=options.output, as_json=options.json))


def build(*, output: str | None, as_json: bool) -> int:
    """``emqlab native build``: the exit status. ``output`` is a file to copy the module to."""
    from emqlab.native.module import CannotBuild, NotInSubset, module_path
    from emqlab.native.module.build import on_stderr

    try:
        path = module_path(on_stderr)
        if output is not None:
            path = _copied(path, output)
    except (CannotBuild, NotInSubset) as error:
        why = error.msg if isinstance(error, NotInSubset) else error
        print(f"emqlab native build: {why}", file=sys.stderr)
        return UNUSABLE
    load = shlex.join(["valkey-server", "--loadmodule", str(path)])
    print(json.dumps({"path": str(path), "load": load}) if as_json else f"{path}\n{load}")
    return BUILT


def _copied(module: Path, output: str) -> Path:
    """``module`` under the name ``output``. Raises CannotBuild."""
    from emqlab.native.module import CannotBuild

    target = Path(output).absolute()
    if not output or target.is_dir():
        raise CannotBuild(f"--output {output or repr(output)} is no file name; name the file to write, as emq.so")
    # Beside it first: a server that has the old one loaded keeps what it has mapped.
    beside = target.with_name(target.name + ".part")
    try:
        shutil.copyfile(module, beside)
        beside.chmod(0o755)
        beside.replace(target)
    except OSError as error:
        raise CannotBuild(f"{output} can't be written: {error.strerror or error}; name another file") from None
    return target
