"""A server's URL: what redis-py is told, and one sentence for each way in which opening it fails."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

_SCHEMES = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss", "unix": "unix"}
_EXAMPLES = "redis://localhost:6379, rediss://user:password@host:6380 or unix:///path/to/socket"
#: What a URL may not decide: replies are bytes, and nothing is sent twice.
_OURS = ("decode_responses", "protocol", "retry", "retry_on_error", "retry_on_timeout", "encoding", "encoding_errors")


class Address:
    """One server's URL, read. ``str`` is the URL without its password; ``options`` are redis-py's, with its class."""

    def __init__(self, url: str) -> None:
        scheme, colon, rest = url.partition("://")
        if not colon or scheme not in _SCHEMES:
            raise ValueError(f"{_bare(url)!r} is no server; give its URL, such as {_EXAMPLES}")
        self.scheme = scheme
        self._shown = _bare(url)
        try:
            options = parse_url(f"{_SCHEMES[scheme]}://{rest}")
            path = urlsplit(url).path.strip("/")
        except ValueError as error:
            raise ValueError(f"{self}: {str(error).rstrip('.')}; write it like {_EXAMPLES}") from None
        if scheme == "unix" and not options.get("path"):
            raise ValueError(f"{self}: a unix URL names the socket's file, as in unix:///path/to/socket")
        if scheme != "unix" and path and not (path.isascii() and path.isdigit()):
            raise ValueError(f"{self}: what follows the last / is a database's number, not {path!r}")
        self.connection_class: Any = options.pop("connection_class", redis.Connection)
        self.options: dict[str, Any] = {name: value for name, value in options.items() if name not in _OURS}
        self.options |= {"protocol": 2, "retry": Retry(NoBackoff(), 0)}
        self._check()

    def __str__(self) -> str:
        return self._shown

    @property
    def secure(self) -> bool:
        """Whether it speaks TLS."""
        return _SCHEMES[self.scheme] == "rediss"

    def _check(self) -> None:
        """Refuse options that redis-py does not know and files that are not there, before anything is sent."""
        for name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile"):
            if name in self.options and not Path(self.options[name]).is_file():
                raise ValueError(f"{self}: {name}: there is no file {self.options[name]!r}; name one that is there")
        try:
            redis.ConnectionPool(connection_class=self.connection_class, **self.options).make_connection()
        except (TypeError, ValueError, redis.RedisError) as error:
            unknown = str(error).rpartition("unexpected keyword argument ")[2]
            why = f"there is no option {unknown}" if unknown != str(error) else str(error)
            raise ValueError(f"{self}: {why}; the options are redis-py's, such as ?ssl_ca_certs=ca.pem") from None

    def client(self, **options: Any) -> redis.Redis:
        """A client of it: bytes in and out, RESP2 unless told otherwise, no retries."""
        pool = redis.ConnectionPool(connection_class=self.connection_class, **{**self.options, **options})
        return redis.Redis(connection_pool=pool)

    def failure(self, error: Exception) -> str:
        """Why it can't be opened, in one sentence that says what to do."""
        text = " ".join(str(error).split()).rstrip(".")
        low = text.lower()
        if isinstance(error, redis.AuthenticationError):
            if "required" in low:
                return f"{self} asks for a password; put it in the URL: {self.scheme}://user:password@…"
            return f"{self} refused the user or the password ({text}); check them in the URL"
        if isinstance(error, redis.ResponseError):
            return f"{self} refused to be opened: {text}"
        if self.secure and "mismatch" in low:
            return f"{self}: its certificate is for another host ({text}); write the host that it names"
        if "certificate_verify_failed" in low or "certificate verify failed" in low:
            return f"{self}: its certificate is not trusted ({text}); name its authority with ?ssl_ca_certs=FILE"
        if self.secure and ("ssl" in low or "closed" in low or "reset" in low or "timeout" in low):
            return (
                f"{self} and this client found no TLS to speak ({text}); it may ask for a client's certificate"
                " (?ssl_certfile=FILE&ssl_keyfile=FILE), or be a plain redis://"
            )
        if not self.secure and self.scheme != "unix" and ("closed" in low or "reset" in low):
            return f"{self} hung up at once; if it speaks TLS, write rediss://…"
        return f"{self} can't be reached ({text}); start the server, or give the URL of one that runs"


def _bare(url: str) -> str:
    """A URL without user and password, and without its options, which may hold one too."""
    scheme, colon, rest = url.partition("://")
    if not colon:
        return url.rpartition("@")[2]
    before, slash, after = rest.partition("/")
    return f"{scheme}://{before.rpartition('@')[2]}{slash}{after}".partition("?")[0]
