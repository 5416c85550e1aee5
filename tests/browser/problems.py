"""What goes wrong on a page without a test asking: the harness watches every page for it."""

from dataclasses import dataclass, field

from playwright.sync_api import ConsoleMessage, Page, Request

from emqlab.course import HOST


@dataclass
class Problems:
    """What went wrong on a page: errors on its console or in its scripts, requests that left this machine."""

    seen: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Note every problem of ``page`` from now on."""
        page.on("console", self.on_console)
        page.on("pageerror", lambda error: self.seen.append(f"page error: {error}"))
        page.on("request", self.on_request)

    def forgive(self, part: str) -> None:
        """Take back what was noted of one problem that the test makes on purpose."""
        self.seen = [problem for problem in self.seen if part not in problem]

    def on_console(self, message: ConsoleMessage) -> None:
        """Note an error on the console, with the place it comes from."""
        if message.type == "error":
            self.seen.append(f"console: {message.text} ({message.location.get('url')})")

    def on_request(self, request: Request) -> None:
        """Note a request to anywhere but this machine: the course works without a network."""
        if not request.url.startswith((f"http://{HOST}:", f"ws://{HOST}:", "data:", "blob:")):
            self.seen.append(f"a request left this machine: {request.url}")
