"""Where a Chromium is, for the tests that click through the lessons."""

import os
import shutil
import sys
from pathlib import Path

ON_PATH = ("chromium", "chromium-browser", "google-chrome")
IN_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# A build that playwright fetched, on Linux and on macOS, with a window and without one.
FETCHED = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium_headless_shell-*/chrome-*/*headless*shell",
)


def fetched_folders() -> list[Path]:
    """The folders in which playwright keeps the browsers it fetched, the clone's own first."""
    asked = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    cache = "Library/Caches" if sys.platform == "darwin" else ".cache"
    folders = [Path(asked)] if asked else []
    # `binder/here.py test` has playwright put its browser inside the environment, not in the reader's home.
    return [*folders, Path(sys.prefix, "browsers"), Path.home() / cache / "ms-playwright"]


def find_browser() -> Path | None:
    """The Chromium to use, or None.

    ``$EMQLAB_CHROMIUM`` wins, also when it names a file that is not there (then the answer is None, so
    that a typing mistake is seen); then the PATH, the macOS applications, and what playwright fetched.
    """
    asked = os.environ.get("EMQLAB_CHROMIUM")
    if asked:
        return Path(asked) if os.access(asked, os.X_OK) else None
    for name in ON_PATH:
        found = shutil.which(name)
        if found:
            return Path(found)
    for application in IN_APPLICATIONS:
        if os.access(application, os.X_OK):
            return Path(application)
    for folder in fetched_folders():
        for pattern in FETCHED:
            for path in sorted(folder.glob(pattern), reverse=True):
                if os.access(path, os.X_OK):
                    return path
    return None
