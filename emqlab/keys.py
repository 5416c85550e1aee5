"""The key grammar: every key of a queue, built from its name, and the cluster slot they share (SPEC 2)."""

import binascii
import re

VERSION_KEY = b"{emq}:version"
VERSION = b"echomq:3.0.0"
SLOTS = 16384
#: What a flow's parent has besides its row: its row's key with one of these behind it (SPEC 4.4).
FLOW_ENDS = (b":dependencies", b":processed", b":failed", b":unsuccessful")

_NAME = re.compile(rb"[A-Za-z0-9._-]{1,128}")


def base(queue: bytes) -> bytes:
    """The prefix that all keys of ``queue`` share: ``emq:{q}:``. Built without checking the name."""
    return b"emq:{" + queue + b"}:"


def row(queue: bytes, job_id: bytes) -> bytes:
    """The key of a job's row. Built without checking name or id."""
    return base(queue) + b"job:" + job_id


def check_queue(queue: str) -> bytes:
    """A queue name as bytes.

    Raises TypeError when ``queue`` is not text, ValueError when it is not 1-128 characters out of
    ``A-Z a-z 0-9 . _ -`` or is the reserved name ``emq``.
    """
    if not isinstance(queue, str):
        raise TypeError(f"queue must be a str, not {type(queue).__name__}")
    name = queue.encode("utf-8", "surrogatepass")
    if not _NAME.fullmatch(name):
        raise ValueError(f"queue must be 1-128 characters out of A-Z a-z 0-9 . _ -, not {queue!r}")
    if name == b"emq":
        raise ValueError("queue must not be 'emq': that hashtag holds the wire version")
    return name


def slot(key: bytes) -> int:
    """The cluster slot of ``key``, 0-16383: CRC16-XMODEM of its hashtag, or of the whole key without one.

    Source: https://valkey.io/topics/cluster-spec/
    """
    start = key.find(b"{")
    if start >= 0:
        end = key.find(b"}", start + 1)
        if end > start + 1:
            key = key[start + 1 : end]
    return binascii.crc_hqx(key, 0) % SLOTS
