"""What the tests need that pip does not bring: a Redis, a C compiler, node's client; installed where that can be done.

As root of a Debian or Ubuntu its packages are installed; nothing is started and nothing is set up to start. Where
something can't be had, one line says what the tests will skip, and the cure.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
VENV = CLONE / ".venv"
PYTHON = VENV / "bin" / "python"
#: Where npm installs to; tests/clients looks there.
NODE = VENV / "node"
NODE_CLIENT = "redis@5"


def run(command: list[str], environment: dict[str, str] | None = None) -> bool:
    """Run ``command`` in the clone, its output shown as it comes; whether it went well."""
    return subprocess.run(command, cwd=CLONE, env=environment, check=False).returncode == 0


def is_debian_root() -> bool:
    """Whether packages of a Debian or Ubuntu can be installed from here."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get") is not None


def apt_install(*packages: str) -> bool:
    """Install Debian packages, reading the list of packages again only when that is needed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    return run(install, environment) or (run(["apt-get", "update"], environment) and run(install, environment))


def ensure_tools() -> None:
    """See to all of it."""
    ensure_redis()
    ensure_compiler()
    ensure_node_client()


def ensure_redis() -> bool:
    """A Redis server, redis-cli and redis-benchmark; whether they are there."""
    names = ("redis-server", "redis-cli", "redis-benchmark")
    if all(map(_found, names)):
        return True
    if is_debian_root():
        _fetching("a Redis")
        # Debian's server is a link to a program of the tools, in a package of its own that would start a service.
        apt_install("redis-tools")
        _link("redis-check-rdb", "redis-server")
    missing = [name for name in names if not _found(name)]
    return not missing or _lacking(
        " and no ".join(missing), "the tests on Redis", "apt-get install redis-server, or brew install redis"
    )


def ensure_compiler() -> bool:
    """A C compiler for the module; whether there is one."""
    if os.environ.get("CC") or _found("cc"):
        return True
    if is_debian_root():
        _fetching("a C compiler")
        apt_install("gcc", "libc6-dev")
    return (
        bool(_found("cc"))
        or _quietly([str(PYTHON), "-c", "import ziglang"])
        or run([str(PYTHON), "-m", "pip", "install", "--quiet", "--no-cache-dir", "ziglang"])
        or _lacking("C compiler", "every test of the module", "apt-get install gcc, or xcode-select --install")
    )


def ensure_node_client() -> bool:
    """node's ``redis`` package; whether it is there."""
    if (NODE / "node_modules" / "redis").is_dir():
        return True
    npm = _found("npm")
    if npm is None or _found("node") is None:
        return _lacking("node and npm", "the tests with node's client", "apt-get install npm, or brew install node")
    _fetching("node's client")
    # npm's own cache would be in the home folder.
    quiet = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error", f"--cache={VENV / 'npm'}"]
    NODE.mkdir(parents=True, exist_ok=True)
    return run([npm, "install", *quiet, f"--prefix={NODE}", NODE_CLIENT]) or _lacking(
        "client for node", "the tests with it", f"npm install --prefix {NODE} {NODE_CLIENT}, with the network there"
    )


def _found(name: str) -> str | None:
    """A program as the checks will find it."""
    return shutil.which(name, path=os.pathsep.join([str(PYTHON.parent), os.environ.get("PATH", os.defpath)]))


def _link(program: str, name: str) -> None:
    """Have ``program`` in the clone's environment as ``name``, unless that is there, or it then does not run."""
    target = _found(program)
    if _found(name) or target is None:
        return
    link = PYTHON.parent / name
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    if not _quietly([str(link), "--version"]):
        link.unlink()


def _quietly(command: list[str]) -> bool:
    """Whether ``command`` goes well; what it prints is nobody's concern."""
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _fetching(what: str) -> None:
    print(f"Fetching {what} for the tests ...", flush=True)


def _lacking(what: str, skipped: str, cure: str) -> bool:
    """Say what is missing; False, for that is what its callers answer."""
    print(f"There is no {what} here, so {skipped} will be skipped: {cure}", file=sys.stderr, flush=True)
    return False
