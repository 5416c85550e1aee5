"""Building shared objects: which compiler, where the result is kept, and what is said when it can't be built."""

import ctypes
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import platformdirs
import pytest

from binder.wheel import glibc_versions
from emqlab.native.module import build, module_path
from emqlab.native.module.build import CannotBuild, NoCompiler, built_name, compilers, shared_object
from tests.servers.real import real_server

SEVEN = {"seven.c": '#include "seven.h"\nint seven(void) { return SEVEN; }\n', "seven.h": "#define SEVEN 7\n"}
STRICT = ("-Wall", "-Wextra", "-Werror")
ZIG_CACHE = platformdirs.user_cache_path("zig", appauthor=False)

NO_ZIG = "the ziglang package is not installed (pip install ziglang)"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own, and no compiler asked for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # What zig makes of its own library takes long, and is the same every time.
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(ZIG_CACHE))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "cache" / "emqlab"


@pytest.fixture(scope="module")
def kept_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for the tests that build the whole module."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def kept(cache: Path, kept_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test has built, the next one finds."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(kept_cache))


@pytest.fixture
def no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without cc and without the ziglang package."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def program(folder: Path, name: str, text: str) -> Path:
    """An executable shell script."""
    folder.mkdir(exist_ok=True)
    made = folder / name
    made.write_text(text, encoding="utf-8")
    made.chmod(0o755)
    return made


def needs_cc() -> str:
    """The path of cc; the test is skipped where there is none."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("there is no cc here; install one (apt-get install gcc libc6-dev)")
    return found


def seven_of(path: Path) -> int:
    """What the built function answers."""
    answer: int = ctypes.CDLL(str(path)).seven()
    return answer


def test_it_is_built_once_and_then_found(cache: Path) -> None:
    """The second time nothing is told, and only the result lies in the cache."""
    needs_cc()
    told: list[str] = []
    first = shared_object("seven", SEVEN, main="seven.c", tell=told.append)
    second = shared_object("seven", SEVEN, main="seven.c", tell=told.append)
    assert (first, 7) == (second, seven_of(first))
    assert [f"Building seven with {shutil.which('cc')}, once ..."] == told
    assert [first, sum_of(first)] == sorted(cache.iterdir())


def sum_of(built: Path) -> Path:
    """The file beside a built one that tells its content."""
    return built.with_name(built.name + ".sha256")


@pytest.mark.parametrize("damage", ["cut", "emptied", "changed", "no sum", "no sense"])
def test_what_is_damaged_is_built_anew(damage: str) -> None:
    """By a full disk, say: a server would only say that it can't load it."""
    needs_cc()
    told: list[str] = []
    built = shared_object("seven", SEVEN, main="seven.c")
    whole = built.read_bytes()
    if damage == "no sum":
        sum_of(built).unlink()
    elif damage == "no sense":
        sum_of(built).write_bytes(b"\xff")
    else:
        built.write_bytes({"cut": whole[:1000], "emptied": b"", "changed": whole[:-1] + b"!"}[damage])
    assert built == shared_object("seven", SEVEN, main="seven.c", tell=told.append)
    assert (whole, 1) == (built.read_bytes(), len(told))
    assert (built, 1) == (shared_object("seven", SEVEN, main="seven.c", tell=told.append), len(told))


def test_what_lost_its_mode_gets_it_back() -> None:
    """Servers load no module that may not be executed."""
    needs_cc()
    built = shared_object("seven", SEVEN, main="seven.c")
    built.chmod(0o600)
    assert 0o100 & shared_object("seven", SEVEN, main="seven.c").stat().st_mode


def test_other_texts_flags_or_compilers_are_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stale is ever loaded."""
    cc = needs_cc()
    made = [
        shared_object("seven", SEVEN, main="seven.c"),
        shared_object("seven", {**SEVEN, "seven.h": "#define SEVEN 8\n"}, main="seven.c"),
        shared_object("seven", SEVEN, main="seven.c", flags=("-O1",)),
    ]
    monkeypatch.setenv("CC", f"{cc} -O0")
    made.append(shared_object("seven", SEVEN, main="seven.c"))
    assert 4 == len(set(made))
    assert 8 == seven_of(made[1])


def test_two_may_build_at_once(cache: Path) -> None:
    """Either wins, both load, and nothing else is left."""
    needs_cc()
    start = threading.Barrier(4)
    made: list[Path] = []

    def one() -> None:
        start.wait()
        made.append(shared_object("seven", SEVEN, main="seven.c"))

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[:1] * 4 == made
    assert [made[0], sum_of(made[0])] == sorted(cache.iterdir())
    assert 7 == seven_of(made[0])


@pytest.mark.usefixtures("no_compiler")
def test_what_a_wheel_carries_is_used_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler, without a cache, and whatever ``$CC`` says."""
    monkeypatch.setattr(build, "PREBUILT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setenv("CC", "nowhere")
    carried = tmp_path / built_name("seven", SEVEN)
    carried.touch()
    assert carried == shared_object("seven", SEVEN, main="seven.c")


def test_where_it_was_built_is_not_in_it(cache: Path) -> None:
    """The same build twice is the same bytes, so a wheel tells nothing of the machine that made it."""
    needs_cc()
    made = shared_object("seven", SEVEN, main="seven.c")
    first = made.read_bytes()
    made.unlink()
    assert first == shared_object("seven", SEVEN, main="seven.c").read_bytes()
    assert str(cache).encode() not in first


def test_the_compilers_are_asked_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``$CC`` alone; else cc, then the ziglang package; blanks are nothing asked for."""
    cc = program(tmp_path / "bin", "cc", "")
    other = program(tmp_path / "bin", "my cc", "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "ziglang" or None)
    monkeypatch.setenv("CC", "  ")
    assert [[str(cc)], [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]] == compilers()
    monkeypatch.setenv("CC", "'my cc' -m64")
    assert [[str(other), "-m64"]] == compilers()


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_both_cures_are_named() -> None:
    """One sentence, an error of its own."""
    with pytest.raises(NoCompiler, match=r"no C compiler here; install one \(apt-get .*\) or run .* install ziglang$"):
        shared_object("seven", SEVEN, main="seven.c")


@pytest.mark.parametrize("asked", ["nowhere/cc", "no'quote"])
def test_a_cc_that_is_no_program_is_named(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to do about it; another compiler is not quietly taken."""
    monkeypatch.setenv("CC", asked)
    with pytest.raises(
        CannotBuild, match=r"^\$CC is .*, which is no program here; set it to a C compiler, or unset it"
    ):
        shared_object("seven", SEVEN, main="seven.c")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "echo 'In file x:' >&2; echo 'x.c:1: error: no' >&2; echo 'collect2: error: 1' >&2; exit 1",
            "x.c:1: error: no",
        ),
        ("printf 'a: error: one\\nb: error: two\\n' >&2; exit 1", "a: error: one | b: error: two"),
        ("echo 'ld: no such thing' >&2; echo 'collect2: error: ld' >&2; exit 1", "ld: no such thing"),
        ("printf 'error: \\377\\n' >&2; exit 1", "error: \ufffd"),
        ("exit 3", "exit status 3"),
        ("exit 0", "nothing, and made no file"),
    ],
)
def test_a_compiler_that_fails_is_quoted(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its errors in one line, without what only says that there were errors."""
    cc = program(tmp_path / "bin", "cc", f"#!/bin/sh\n{script}\n")
    monkeypatch.setenv("CC", str(cc))
    with pytest.raises(CannotBuild) as failed:
        shared_object("seven", SEVEN, main="seven.c")
    assert f"seven can't be built: {cc} says: {said}; set CC to a C compiler that can" == str(failed.value)


def test_a_compiler_that_does_not_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of another machine, say."""
    monkeypatch.setenv("CC", str(program(tmp_path / "bin", "cc", "\0")))
    with pytest.raises(CannotBuild, match=r"^seven can't be built: \S+/cc says: [^;]+; set CC to "):
        shared_object("seven", SEVEN, main="seven.c")


def test_a_second_compiler_helps_where_the_first_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cc without a C library, say, beside ziglang, which brings one."""
    broken, cc = program(tmp_path / "bin", "broken", "#!/bin/sh\nexit 1\n"), needs_cc()
    monkeypatch.setattr(build, "compilers", lambda: [[str(broken)], [cc]])
    assert 7 == seven_of(shared_object("seven", SEVEN, main="seven.c"))


@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere"])
def test_a_cache_that_can_t_be_written_is_named(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the folder, the reason and the cure."""
    needs_cc()
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    with pytest.raises(CannotBuild, match=rf"^seven can't be built in {home}/emqlab: [^;]+; set XDG_CACHE_HOME to "):
        shared_object("seven", SEVEN, main="seven.c")


def test_a_user_without_a_home_gets_no_folder_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative cache folder would be made wherever Python happens to run."""
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *args, **more: Path("~/.cache/emqlab"))
    with pytest.raises(CannotBuild, match="no home to keep built files in; set XDG_CACHE_HOME"):
        shared_object("seven", SEVEN, main="seven.c")


@pytest.mark.parametrize("name", ["cc", "clang", "ziglang"])
@pytest.mark.usefixtures("kept")
def test_the_module_builds_without_a_warning(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under every compiler that is here; in a reader's build, warnings are no errors."""
    monkeypatch.setenv("CC", shlex.join(named_compiler(name)))
    assert module_path(flags=STRICT).stat().st_size > 0


@pytest.mark.usefixtures("kept")
def test_what_ziglang_builds_is_loaded_by_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no other compiler, it is the one."""
    monkeypatch.setenv("CC", shlex.join(named_compiler("ziglang")))
    with real_server("valkey", module=module_path(flags=STRICT)) as server:
        assert [] == server.client.execute_command(
            "EMQ.CLAIM", "3", "emq:{q}:pending", "emq:{q}:active", "emq:{q}:", "1000"
        )


def named_compiler(name: str) -> list[str]:
    """The command of a compiler; the test is skipped where there is none."""
    if name == "ziglang":
        if importlib.util.find_spec(name) is None:
            pytest.skip(NO_ZIG)
        return [sys.executable, *build.ZIG]
    found = shutil.which(name)
    if found is None:
        pytest.skip(
            f"there is no {name} here; install one (apt-get install {'gcc libc6-dev' if name == 'cc' else name})"
        )
    return [found]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only Linuxes with the GNU C library are of one platform")
@pytest.mark.usefixtures("kept")
def test_the_module_needs_no_new_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing newer than the GNU C library of 2012, and no other library at all."""
    monkeypatch.setenv("CC", shlex.join(named_compiler("cc")))
    versions = glibc_versions(module_path(flags=STRICT).read_bytes())
    assert None not in versions
    assert max(version for version in versions if version) <= (2, 17)


def built_wheel(folder: Path, kind: str, **environment: str) -> Path:
    """What hatchling builds of the project."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed (pip install hatchling)")
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    clone = Path(build.__file__).parents[3]
    if not (clone / "pyproject.toml").exists():
        pytest.skip("an installed package has no pyproject.toml; run this from a clone")
    here = {**_plain_environment(), **environment}
    subprocess.run(command, cwd=clone, env=here, check=True, capture_output=True)
    [made] = folder.iterdir()
    return made


def _plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "EMQLAB_PREBUILT"}


def data_files() -> set[str]:
    """What is no Python and must be there to build and to measure."""
    package = Path(build.__file__).parents[2]
    found = [*package.rglob("*.[ch]"), *package.rglob("*.lua"), *(package / "bench").glob("[!.]*.*")]
    return {file.relative_to(package.parent).as_posix() for file in found}


def test_a_plain_wheel_is_for_every_platform(tmp_path: Path) -> None:
    """It carries every source and nothing built; so does the archive of the sources."""
    wheel = built_wheel(tmp_path / "wheel", "wheel")
    shutil.unpack_archive(wheel, tmp_path / "in", "zip")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not list((tmp_path / "in").rglob("*.so"))
    assert set() == {file for file in data_files() if not (tmp_path / "in" / file).exists()}
    archive = built_wheel(tmp_path / "sdist", "sdist")
    shutil.unpack_archive(archive, tmp_path / "out", filter="data")
    [root] = (tmp_path / "out").iterdir()
    assert set() == {file for file in {*data_files(), "binder/wheel.py"} if not (root / file).exists()}


def test_a_prebuilt_wheel_needs_no_compiler(tmp_path: Path) -> None:
    """Its tag is this platform's, and both the module and the clock are found in it."""
    needs_cc()
    wheel = built_wheel(tmp_path / "wheel", "wheel", EMQLAB_PREBUILT="1")
    assert re.search(r"-py3-none-(manylinux_2_\d+|linux|musllinux_1_\d+|macosx_\d+_\d+)_\w+\.whl$", wheel.name)
    shutil.unpack_archive(wheel, tmp_path / "in", "zip")
    asked = (
        "from emqlab.native.module import module_path; from emqlab.servers.shim import clock_shim;"
        "print(module_path(), clock_shim(), sep='\\n')"
    )
    bare = {"PATH": "", "XDG_CACHE_HOME": "/dev/null", "PYTHONPATH": str(tmp_path / "in")}
    done = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, env=bare, check=True, capture_output=True)
    module, shim = done.stdout.decode().splitlines()
    prebuilt = tmp_path / "in" / "emqlab" / "native" / "module" / "prebuilt"
    assert (prebuilt, True) == (Path(module).parent, Path(module).exists())
    assert shim == "None" if sys.platform != "linux" else Path(shim).parent == prebuilt
    assert hasattr(ctypes.CDLL(module), "RedisModule_OnLoad")
