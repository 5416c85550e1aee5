"""``emqlab audit``: which server, which queues, what is printed."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence

import redis

from emqlab import errors, keys
from emqlab.audit.findings import TO_KNOW, Audit
from emqlab.audit.look import Tell
from emqlab.audit.report import table

NOTHING, FOUND, UNUSABLE, LOST = 0, 1, 2, 3


class CannotAudit(ValueError):
    """There is nothing to look at. One sentence that says what to do."""


def audit(
    queues: Sequence[str] = (), *, server: str | None = None, case: str | None = None, as_json: bool = False
) -> int:
    """``emqlab audit``: the exit status. The arguments are those of ``audit_options``, as it parsed them."""
    from emqlab.observe.case import escaped

    found = 0
    try:
        for name, title, one in _audits(queues, server, case):
            found += sum(finding.severity != TO_KNOW for finding in one.findings)
            print(json.dumps(one.json(name)) if as_json else f"{table(one, title)}\n", flush=True)
    except (ValueError, errors.WrongVersion) as error:
        return _said(escaped(str(error)), UNUSABLE)
    except errors.ServerLost as error:
        return _said(f"the server was lost: {escaped(str(error))}; start it and look again", LOST)
    except redis.ResponseError as error:
        return _said(f"the server refused to be used: {escaped(str(error))}; see to it", LOST)
    return FOUND if found else NOTHING


def _said(sentence: str, status: int) -> int:
    print(f"emqlab audit: {sentence}", file=sys.stderr)
    return status


def _audits(queues: Sequence[str], server: str | None, case: str | None) -> Iterator[tuple[str, str, Audit]]:
    """Each audit with the server's name and with what the table calls the place."""
    name = server if server not in (None, "auto") else os.environ.get("EMQLAB_SERVER") or server or "embedded"
    if case is not None:
        if queues:
            raise CannotAudit("a case has a queue of its own; leave the names of queues out, or --case")
        yield from _of_cases(case, server)
    elif "://" in name:
        yield from _of_server(name, [_named(queue) for queue in queues])
    elif name in ("embedded", "valkey", "auto"):
        raise CannotAudit(
            f"give your server's URL: --server redis://… (a server of the lab's own, {name}, starts empty), or a case"
            " whose queue is looked at: --case FILE"
        )
    else:
        raise CannotAudit(f"--server must be a URL (redis://, rediss:// or unix://), not {name!r}")


def _named(queue: str) -> bytes:
    try:
        return keys.check_queue(queue)
    except ValueError as error:
        told = f"{error}; if there is a queue of that name on the server, an audit without names looks at it"
        raise CannotAudit(told) from None


def _of_server(url: str, queues: Sequence[bytes]) -> Iterator[tuple[str, str, Audit]]:
    from emqlab.audit.sites import Site

    site = Site(url)
    with contextlib.closing(site), _progress() as tell:
        none = True
        for one in site.audits(queues, tell):
            none = False
            yield site.name, f"on {site.name}", one
        if none:
            print(f"emqlab audit: {site.name} holds no queue: no key begins with emq:{{…}}:", file=sys.stderr)


def _of_cases(file: str, server: str | None) -> Iterator[tuple[str, str, Audit]]:
    from emqlab.audit.given import audit_given
    from emqlab.lab import open_lab
    from emqlab.parity.command import read_cases

    cases = read_cases([file])
    with open_lab(server) as lab, _progress() as tell:
        for case in cases:
            yield lab.server.name, f"of {case.name}, on {lab.server.name}", audit_given(lab, case, tell)


@contextlib.contextmanager
def _progress() -> Iterator[Tell | None]:
    """What shows on a terminal how far it is; None where standard error is none. The line is wiped in the end."""
    if not sys.stderr.isatty():
        yield None
        return

    def tell(done: int, of: int) -> None:
        end = "\r\033[K" if done == of else ""
        print(f"\r{done:,} of {of:,} ids{end}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
