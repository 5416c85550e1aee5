"""The Lua files, their hashes, and the traced form of each.

The traced form is a prefix on the file's first line, the file byte for byte, and a suffix: line numbers and effects
stay those of the file.
"""

import hashlib
from dataclasses import dataclass
from importlib import resources

_PREFIX = (
    "local server, told, failed = redis, {}, nil "
    "local function box(v) local t = type(v) "
    "if t == 'string' then return {'s', v} end "
    "if t == 'number' then return {'i', string.format('%.17g', v)} end "
    "if t == 'table' and v.err then return {'e', v.err} end "
    "if t == 'table' and v.ok then return {'s', v.ok} end "
    "if t == 'table' then local list = {'l'} for i = 1, #v do list[i + 1] = box(v[i]) end return list end "
    "if v == true then return {'i', '1'} end return {'n'} end "
    "local redis = setmetatable({call = function(...) local sent = {} "
    "for i = 1, select('#', ...) do local v = select(i, ...) "
    "sent[i] = type(v) == 'number' and string.format('%.17g', v) or tostring(v) end "
    # No debug library on real servers: an error raised two frames up carries the body's line.
    "local _, at = pcall(error, '@', 3) local reply = server.pcall(...) "
    "told[#told + 1] = {string.match(at, ':(%d+):') or '0', sent, box(reply)} "
    "if type(reply) == 'table' and reply.err then failed = reply error(reply) end return reply end}, "
    "{__index = server}) "
    "local function body() "
)
_SUFFIX = (
    "\nend local fine, reply = pcall(body) "
    "if fine then reply = box(reply) "
    # Real servers' pcall hands back the text of a raised error reply, and so does a runtime error.
    "elseif failed and (reply == failed or reply == failed.err) then reply = {'e', failed.err} "
    "elseif type(reply) == 'table' and reply.err then reply = {'e', reply.err} "
    "else reply = {'x', tostring(reply)} end return {reply, told}"
)


@dataclass(frozen=True, slots=True)
class Script:
    """One transition's file: its name without ending, its text and its SHA-1 as the server computes it."""

    name: str
    text: bytes
    sha: bytes

    @property
    def traced(self) -> bytes:
        """The text that runs the same body and answers ``{boxed reply, {{line, command, boxed reply}, …}}``."""
        return _PREFIX.encode() + self.text + _SUFFIX.encode()


def script_of(name: str, text: bytes) -> Script:
    """A script out of its file's text."""
    return Script(name, text, hashlib.sha1(text, usedforsecurity=False).hexdigest().encode())


def _load() -> dict[str, Script]:
    folder = resources.files("emqlab.scripted") / "lua"
    found = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name, _, ending = file.name.partition(".")
        if ending == "lua":
            found[name] = script_of(name, file.read_bytes())
    return found


#: File name without ending -> script.
SCRIPTS: dict[str, Script] = _load()
