"""The module as the sanitizers want it, and the surroundings in which an ordinary server loads it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emqlab.native.module import CannotBuild, module_files
from emqlab.native.module.build import compilers, shared_object
from emqlab.servers.process import ServerProcess

#: Each allocation is the C library's own, so that the sanitizer sees where each one ends.
_FLAGS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-DEMQ_LIBC_ALLOC")
_ARENA = re.compile(r"ARENA = \d+, CHUNK = \d+")

#: Valkey loads modules so that they find their own symbols first, which the sanitizer does not bear.
_DLOPEN = """
#define _GNU_SOURCE
#include <dlfcn.h>

void *dlopen(const char *file, int flags) {
  void *(*real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return real(file, flags & ~RTLD_DEEPBIND);
}
"""


def sanitized_module() -> Path:
    """The module built with address and undefined-behaviour sanitizers; the test is skipped where that can't be."""
    files = module_files()
    # No arena and no shared chunk: what lies in one with others overruns into them unseen.
    files["values.h"], count = _ARENA.subn("ARENA = 16, CHUNK = 16", files["values.h"])
    assert 1 == count, "values.h names the sizes of its arena in another way"
    try:
        return shared_object("emq-sanitized", files, main="module.c", flags=_FLAGS)
    except CannotBuild as error:
        pytest.skip(f"there is no sanitizer build here: {error}")


def sanitized_environment() -> dict[str, str]:
    """The environment of a server that loads that module; the test is skipped where the sanitizers can't be loaded."""
    if sys.platform != "linux":
        pytest.skip("the sanitizers are loaded into an ordinary server on Linux only")
    libraries = [_library(name) for name in ("libasan.so", "libubsan.so")]
    try:
        before = shared_object("plain-dlopen", {"dlopen.c": _DLOPEN}, main="dlopen.c")
    except CannotBuild as error:
        pytest.skip(str(error))
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(map(str, [before, *libraries])),
        # Ours stands before the sanitizer in the list, which it would complain about.
        "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def _library(name: str) -> Path:
    found_here = compilers()
    if not found_here:
        pytest.skip("there is no C compiler; install gcc")
    asked = subprocess.run([*found_here[0], f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    found = Path(asked.stdout.strip())
    if not found.is_absolute() or not found.exists():
        pytest.skip(f"the C compiler has no {name}; install gcc with its sanitizers")
    return found


def reports(process: ServerProcess) -> list[str]:
    """What the sanitizers and the server's own crash handler wrote, but for leaks of the server's own."""
    log = process.log.read_text("utf-8", "replace")
    found = [
        line
        for line in log.splitlines()
        if "runtime error" in line or "ERROR: AddressSanitizer" in line or "crashed by signal" in line
    ]
    if "ERROR: LeakSanitizer" in log:
        for block in log.split("ERROR: LeakSanitizer")[1].split("\n\n"):
            allocated = re.search(r"#1 0x[0-9a-f]+ (.*)", block)
            if allocated and process.binary.name not in allocated[1]:
                found.append(block.strip())
    return found
