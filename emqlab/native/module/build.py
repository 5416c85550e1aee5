"""Builds shared objects out of C: with ``cc``, else with the ``ziglang`` package; once per content, in a cache.

Used for the module and for the clock shim. Nothing here is needed where a built one is at hand already.
"""

import contextlib
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: Told what is going on, a line at a time.
Tell = Callable[[str], None]


def on_stderr(line: str) -> None:
    """Tell it where a reader sees it at once, and a program that reads the output does not."""
    print(line, file=sys.stderr, flush=True)


#: What a wheel for one platform carries, under the names that ``built_name`` gives.
PREBUILT = Path(__file__).with_name("prebuilt")

# Warnings are for our own tests: those of a newer compiler must not stop a build.
_FLAGS = ("-std=gnu11", "-O2", "-g", "-fPIC", "-shared")
#: zig would build for this very processor, and a home may be shared by several machines.
ZIG = ("-m", "ziglang", "cc", "-mcpu=baseline")


class CannotBuild(Exception):
    """A shared object could not be built: one sentence that says why, and what to do."""


class NoCompiler(CannotBuild):
    """There is no C compiler on this machine."""


def compilers() -> list[list[str]]:
    """The commands that compile C, best first: ``$CC`` alone if it is set, else ``cc``, then the ziglang package's.

    Raises CannotBuild if ``$CC`` names no program.
    """
    asked = os.environ.get("CC", "").strip()
    if asked:
        return [_asked(asked)]
    found = shutil.which("cc")
    zig = importlib.util.find_spec("ziglang")
    return [*([[found]] if found else []), *([[sys.executable, *ZIG]] if zig else [])]


def _asked(text: str) -> list[str]:
    try:
        program, *rest = shlex.split(text)
    except ValueError:
        program, rest = text, []
    found = shutil.which(program)
    if found is None:
        raise CannotBuild(f"$CC is {text!r}, which is no program here; set it to a C compiler, or unset it")
    return [str(Path(found).absolute()), *rest]


def cache_folder() -> Path:
    """Where built files are kept: ``emqlab`` in the user's cache folder. Raises CannotBuild if there is no such."""
    try:
        import platformdirs  # the command line reads this file, and starts without it
    except ModuleNotFoundError:
        raise CannotBuild(f"platformdirs is missing; run {sys.executable} -m pip install platformdirs") from None
    folder = platformdirs.user_cache_path("emqlab", appauthor=False)
    if not folder.is_absolute():
        raise CannotBuild(f"this user has no home to keep built files in; {_CURE}")
    return folder


_CURE = "set XDG_CACHE_HOME to a folder that is yours"
_NONE_HERE = (
    "{name} must be built and there is no C compiler here; install one (apt-get install gcc libc6-dev, "
    "xcode-select --install) or run {python} -m pip install ziglang"
)


def built_name(name: str, files: Mapping[str, str], flags: Sequence[str] = (), asked: str = "") -> str:
    """The file name of what is built from ``files``: the same content for the same kind of machine, the same name."""
    digest = hashlib.sha256()
    for part in (*_kind(), *_FLAGS, *flags, asked):
        digest.update(part.encode() + b"\0")
    for file, text in sorted(files.items()):
        digest.update(file.encode() + b"\0" + text.encode() + b"\0")
    ending = ".dylib" if sys.platform == "darwin" else ".so"
    return f"{name}-{digest.hexdigest()[:16]}{ending}"


def _kind() -> tuple[str, str, str]:
    """System, processor, and the C library where there are two that can't read each other's files."""
    library = "musl" if "musl" in str(sysconfig.get_config_var("HOST_GNU_TYPE")) else ""
    return platform.system(), platform.machine(), library


def shared_object(
    name: str, files: Mapping[str, str], *, main: str, flags: Sequence[str] = (), tell: Tell | None = None
) -> Path:
    """The shared object built from ``files`` (file name -> C text), of which ``main`` is the one compiled.

    Found in the wheel or in the cache, else built, of which ``tell`` hears. Raises CannotBuild.
    """
    carried = PREBUILT / built_name(name, files, flags)
    if carried.exists():
        with contextlib.suppress(OSError):
            _make_loadable(carried)
        return carried
    # Who sets another compiler wants that one's work, not what lies there.
    target = cache_folder() / built_name(name, files, flags, os.environ.get("CC", "").strip())
    try:
        if not _sound(target):
            _build(name, target, files, main, flags, tell)
        _make_loadable(target)
    except OSError as error:
        raise CannotBuild(f"{name} can't be built in {target.parent}: {error.strerror or error}; {_CURE}") from None
    return target


def at_hand(name: str, files: Mapping[str, str]) -> bool:
    """Whether ``shared_object`` would build nothing. Raises CannotBuild where it would have to, and can't."""
    if (PREBUILT / built_name(name, files)).exists():
        return True
    if _sound(cache_folder() / built_name(name, files, asked=os.environ.get("CC", "").strip())):
        return True
    if not compilers():
        raise NoCompiler(_NONE_HERE.format(name=name, python=sys.executable))
    return False


def _sum_file(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _sound(target: Path) -> bool:
    """Whether a built file is there, and is what was built: a full disk, or a copied home, leaves half of one."""
    try:
        return _sum_file(target).read_text(encoding="utf-8") == _sum(target)
    except (OSError, UnicodeDecodeError):
        return False


def _make_loadable(file: Path) -> None:
    """Servers refuse to load a module that is no program by its mode."""
    if not os.access(file, os.R_OK | os.X_OK) or not file.stat().st_mode & 0o100:
        file.chmod(0o755)


def _build(
    name: str, target: Path, files: Mapping[str, str], main: str, flags: Sequence[str], tell: Tell | None
) -> None:
    """Build with the first compiler that can. Raises CannotBuild, OSError."""
    commands = compilers()
    if not commands:
        raise NoCompiler(_NONE_HERE.format(name=name, python=sys.executable))
    target.parent.mkdir(parents=True, exist_ok=True)
    failures = []
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{name}-", ignore_cleanup_errors=True) as folder:
        for file, text in files.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        for command in commands:
            if tell:
                tell(f"Building {name} with {' '.join(command)}, once ...")
            complaint = _compile(command, folder, main, flags)
            if complaint is None:
                # Two that build at once make the same file, and either may win.
                Path(folder, "sum").write_text(_sum(Path(folder, "made")), encoding="utf-8")
                Path(folder, "made").replace(target)
                Path(folder, "sum").replace(_sum_file(target))
                return
            failures.append(f"{' '.join(command)} says: {complaint}")
    raise CannotBuild(f"{name} can't be built: {'; '.join(failures)}; set CC to a C compiler that can")


def _compile(command: Sequence[str], folder: str, main: str, flags: Sequence[str]) -> str | None:
    """What the compiler complains of, None when ``made`` is in ``folder``."""
    try:
        done = subprocess.run(
            # Where it was built is nobody's business, and differs each time.
            [*command, *_FLAGS, f"-fdebug-prefix-map={folder}=.", *flags, "-o", "made", main],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return None if Path(folder, "made").is_file() else "nothing, and made no file"
    return _complaint(done.stderr) or f"exit status {done.returncode}"


def _complaint(said: str) -> str:
    """The errors out of a compiler's many lines, three at most; else its last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # collect2 only says that the linker failed, and the linker's own line stands before it.
    errors = [line for line in lines if "error:" in line and not line.startswith("collect2")]
    plain = [line for line in lines if not line.startswith("collect2")]
    return " | ".join(errors[:3] or plain[-1:] or lines[-1:])
