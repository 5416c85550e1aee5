"""Every way a verb can refuse, as one family of exceptions that keep their data (SPEC 11)."""


class EmqError(Exception):
    """The base of all of them. ``str(error)`` is one sentence."""

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by data: the constructors take that, not the sentence."""
        return _again, (type(self), self.args, self.__dict__.copy())


def _again(kind: type[EmqError], args: tuple[object, ...], data: dict[str, object]) -> EmqError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(data)
    return error


class _Job(EmqError):
    """A refusal about one job: ``verb`` and ``id`` say which call it answered."""

    _why = "was refused"

    def __init__(self, verb: str, id: bytes) -> None:
        super().__init__(f"{verb} {id.decode('utf-8', 'replace')}: {self._why}")
        self.verb = verb
        self.id = id


class StaleToken(_Job):
    """The presented token is not the row's ``attempts``: somebody has claimed the job since."""

    _why = "the token is not the current one"

    def __init__(self, verb: str, id: bytes, presented: bytes) -> None:
        super().__init__(verb, id)
        self.presented = presented


class JobGone(_Job, LookupError):
    """There is no row, or no ``attempts`` in it: the job was completed, or never was."""

    _why = "there is no such job"


class NotActive(_Job):
    """The job is not leased: its id is not in ``active``."""

    _why = "the job is not active"


class NotDead(_Job):
    """The job is no dead letter: its id is not in ``dead``."""

    _why = "the job is not dead"


class LaneRow(EmqError):
    """A native verb met a row with a ``group``: native verbs serve flat rows. ``id`` is None in a sweep."""

    def __init__(self, verb: str, id: bytes | None) -> None:
        super().__init__(f"{verb}: a lane row; native verbs serve flat rows")
        self.verb = verb
        self.id = id


class FlowRow(_Job):
    """A native verb met a row with a ``parent``: native verbs serve flat rows."""

    _why = "a flow row; native verbs serve flat rows"


class Duplicate(EmqError):
    """A row with this id, or of a flow's with that of one of its ``children``, exists already; nothing was written."""

    def __init__(self, id: bytes, children: tuple[bytes, ...] = ()) -> None:
        or_child = " or one of its children" if children else ""
        super().__init__(f"{id.decode('utf-8', 'replace')}{or_child} exists already")
        self.id = id
        self.children = children


class WrongKind(EmqError, ValueError):
    """The id is well-formed but does not begin with ``JOB``."""

    def __init__(self, id: bytes) -> None:
        super().__init__(f"a job id begins with JOB, not {id[:3].decode('utf-8', 'replace')!r}")
        self.id = id


class BadArgument(EmqError, ValueError):
    """The server found an argument unusable: its ``name`` and ``why``."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} {why}")
        self.name = name
        self.why = why


class WrongVersion(EmqError):
    """``{emq}:version`` holds another wire version than ours: ``got``."""

    def __init__(self, got: bytes) -> None:
        text = got.decode("utf-8", "replace")
        super().__init__(f"the queues on this server speak {text!r}; use the release that speaks it, or another server")
        self.got = got


class Forbidden(EmqError, PermissionError):
    """The connection's ACL user lacks a right. ``text`` is the server's own."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class ServerRefused(EmqError):
    """Any other error reply: its ``code`` word and whole ``text``."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


class ServerLost(EmqError, ConnectionError):
    """The server went away during a call; whether the call was carried out is not known."""


class Unsupported(EmqError, NotImplementedError):
    """This executor has no such verb; nothing was sent."""

    def __init__(self, verb: str, executor: str) -> None:
        super().__init__(f"the {executor} executor has no {verb}")
        self.verb = verb
        self.executor = executor
