"""The build hook of hatchling: with EMQLAB_PREBUILT=1 a wheel carries the module, built, and is for one platform.

    EMQLAB_PREBUILT=1 python -m build --wheel

For old Linuxes, too: CC="python -m ziglang cc -target x86_64-linux-gnu.2.17". Without the variable the wheel is for
every platform, and the module is built where it is used.
"""

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "EMQLAB_PREBUILT"
PLACE = "emqlab/native/module/prebuilt"

#: The oldest C library for which there is a tag that every pip knows.
_OLDEST = (2, 17)
#: What the GNU C library consists of: a file that needs any other library is for no other machine.
_LIBC = re.compile(rb"(libc|libm|libdl|libpthread|ld-linux[-a-z0-9_]*)\.so\.\d+")


class Prebuilt(BuildHookInterface[Any]):
    """Builds the module, and on Linux the clock shim, into the wheel."""

    def dependencies(self) -> list[str]:
        """What the build needs of the project's own dependencies."""
        return ["packaging>=26", "platformdirs>=4.3"] if _asked() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the built files and the tag. Raises CannotBuild."""
        if not _asked() or version == "editable":
            return
        sys.path.insert(0, self.root)
        try:
            built = dict(_built(self.app.display_info))
        finally:
            sys.path.remove(self.root)
        build_data["force_include"] |= {str(path): f"{PLACE}/{name}" for name, path in built.items()}
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(path.read_bytes() for path in built.values())}"


def _asked() -> bool:
    return os.environ.get(VARIABLE, "") not in ("", "0")


def _built(tell: Any) -> Iterable[tuple[str, Path]]:
    """The name in the wheel of each built file, and where it is."""
    from emqlab.native.module import module_files, module_path
    from emqlab.native.module.build import built_name
    from emqlab.servers.shim import clock_shim, shim_files

    yield built_name("emq", module_files()), module_path(tell)
    shim = clock_shim(tell)
    if shim:
        yield built_name("clock_shim", shim_files()), shim


def platform_tag(files: Iterable[bytes]) -> str:
    """The platform that shared objects are for: of Linux the oldest whose C library has every symbol they need."""
    from packaging.tags import platform_tags

    here = list(platform_tags())
    # The last of Linux, the first of macOS: the machine itself, without a promise about older ones.
    own = next((tag for tag in here if tag.startswith("linux_")), here[0])
    needed = [version for raw in files for version in glibc_versions(raw)]
    if not own.startswith("linux_") or not needed or None in needed:
        return own
    major, minor = max([_OLDEST, *(version for version in needed if version)])
    return f"manylinux_{major}_{minor}_{own.removeprefix('linux_')}"


def glibc_versions(raw: bytes) -> list[tuple[int, int] | None]:
    """The versions of the GNU C library that a shared object names; None for another library that it needs."""
    names = re.findall(rb"(?<=\0)[-\w+]+\.so(?:\.\d+)*(?=\0)", raw)
    others: list[None] = [None for name in names if not _LIBC.fullmatch(name)]
    versions = re.findall(rb"(?<=\0)GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", raw)
    return [*((int(major), int(minor)) for major, minor in versions), *others]
