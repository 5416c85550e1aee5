"""A user's server, opened to be looked at: nothing is claimed there, and nothing stays behind."""

from collections.abc import Iterator, Sequence

import redis
from redis.exceptions import MovedError

from emqlab import keys
from emqlab.audit.findings import Audit
from emqlab.audit.look import Tell, audit_queue
from emqlab.audit.reading import CannotLook, Reader, lost, readable
from emqlab.replies import ask_all
from emqlab.servers import cluster
from emqlab.servers.address import Address

_PREFIX = b"emq:{"
#: How often progress is told while keys are met that SCAN finds.
_OFTEN = 5000


class Site:
    """A user's server or cluster. Raises ValueError, one sentence, when it can't be opened or read."""

    def __init__(self, url: str) -> None:
        self.address = Address(url)
        self._nodes: cluster.Nodes | None = None
        self._pools: list[redis.ConnectionPool] = []
        self.name = str(self.address)
        client = self._kept(self.address.client())
        try:
            (told,) = ask_all(client, [("INFO", "cluster")])
        except (redis.RedisError, OSError) as error:
            raise ValueError(self.address.failure(error)) from None
        if _lines(readable(told)).get("cluster_enabled") == "1":
            if self.address.scheme == "unix":
                raise ValueError(f"{self.address} is a node of a cluster; give its redis:// URL")
            self._nodes = cluster.Nodes(self.address.connection_class, self.address.options)
        self._client = client

    def audits(self, queues: Sequence[bytes], tell: Tell | None = None) -> Iterator[Audit]:
        """The queues named, or all that there are, one after the other. Raises CannotLook, ServerLost."""
        if queues:
            for queue in queues:
                yield self._audit(self._holder(queue), queue, None, tell)
            return
        for client in self._primaries():
            for queue, names in sorted(_queues(client, tell).items()):
                yield self._audit(client, queue, names, tell)

    def close(self) -> None:
        """Hang up."""
        for pool in self._pools:
            pool.disconnect()

    def _audit(self, client: redis.Redis, queue: bytes, names: list[bytes] | None, tell: Tell | None) -> Audit:
        with Reader(client) as reader:
            server, role, time = reader.ask_all([("INFO", "server"), ("INFO", "replication"), ("TIME",)])
        if _lines(role).get("role") == "slave":
            raise CannotLook(f"{self.address} is a replica, whose epoch is its own; give the URL of its primary")
        now_ms = int(time[0]) * 1000 + int(time[1]) // 1000
        run_id = _lines(server).get("run_id", "").encode()
        return audit_queue(client, queue, now_ms=now_ms, run_id=run_id, tell=tell, names=names)

    def _holder(self, queue: bytes) -> redis.Redis:
        """A client of the one server that holds the queue."""
        if self._nodes is None:
            return self._client
        with lost():
            (reply,) = ask_all(self._client, [("TYPE", keys.base(queue))])
        if not isinstance(reply, MovedError):
            return self._client
        home = self._nodes.owner(None)[0]
        return self._at(self._nodes.learn(reply.slot_id, home, str(reply.args[0]).split(" ")[1]))

    def _primaries(self) -> list[redis.Redis]:
        if self._nodes is None:
            return [self._client]
        with Reader(self._client) as reader:
            slots = reader.ask("CLUSTER", "SLOTS")
        home = self._nodes.owner(None)[0]
        places = dict.fromkeys(((slot[2][0] or b"").decode() or home, int(slot[2][1])) for slot in slots)
        return [self._at(place) for place in places]

    def _at(self, place: cluster.Address) -> redis.Redis:
        """A client of one node of the cluster."""
        return self._kept(self.address.client(host=place[0], port=place[1]))

    def _kept(self, client: redis.Redis) -> redis.Redis:
        self._pools.append(client.connection_pool)
        return client


def _queues(client: redis.Redis, tell: Tell | None) -> dict[bytes, list[bytes]]:
    """The queues that one server holds, each with the names of its keys, by one SCAN."""
    found: dict[bytes, list[bytes]] = {}
    with Reader(client) as reader:
        for met, name in enumerate(reader.names(_PREFIX), 1):
            if tell is not None and met % _OFTEN == 0:
                tell(0, met)
            queue, closed, _ = name.removeprefix(_PREFIX).partition(b"}:")
            if closed and queue:
                found.setdefault(queue, []).append(name)
    return found


def _lines(info: bytes) -> dict[str, str]:
    """A reply to INFO."""
    pairs = (line.partition(":") for line in info.decode("utf-8", "replace").splitlines())
    return {name: value for name, _, value in pairs}
