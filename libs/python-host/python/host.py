"""Serves calls of modules in Python, one at a time, over descriptor 3.

Run as: python host.py <file of the master> <use> <bytes of memory>

A message is four bytes, its length, and then a map in msgpack. A request is
{op, given}. Answers are any number of {event: [tag, data]}, then one of {value},
{error} or {stale}. What modules print goes to the log of the master.
"""

import fcntl
import os
import resource
import select
import signal
import struct
import sys
import threading
import traceback

PIPE = 3
# High, so that modules that count descriptors do not meet it.
PIPE_KEPT_AT = 200
MESSAGE_MAX = 64 * 1024 * 1024
TEXT_MAX = 16 * 1024


class Pipe:
    """The descriptor to the master's process."""

    def __init__(self):
        self.fd = fcntl.fcntl(PIPE, fcntl.F_DUPFD_CLOEXEC, PIPE_KEPT_AT)
        os.close(PIPE)
        os.set_blocking(self.fd, True)
        self.owner = os.getpid()
        self.lock = threading.Lock()

    def read(self):
        """The next message as bytes; None at the end."""
        head = self._exactly(4)
        if head is None:
            return None
        (length,) = struct.unpack(">I", head)
        if length > MESSAGE_MAX:
            raise ValueError("the request is too large")
        return self._exactly(length)

    def write(self, body):
        """Sends a message. A process that a module forked ends here instead."""
        if os.getpid() != self.owner:
            os._exit(1)
        if len(body) > MESSAGE_MAX:
            raise ValueError("larger than %d MiB" % (MESSAGE_MAX >> 20))
        view = memoryview(struct.pack(">I", len(body)) + body)
        # A thread of a module may fire an event while the answer is sent.
        with self.lock:
            while view:
                view = view[os.write(self.fd, view) :]

    def _exactly(self, count):
        parts = []
        while count > 0:
            part = os.read(self.fd, min(count, 1 << 20))
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def end_with_master(fd):
    """Ends this process and what it started when the master's process is gone."""
    poll = select.poll()
    poll.register(fd, 0)
    poll.poll()
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def limit(memory):
    """Bounds the address space, also of programs that modules start. No core files."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def cut(text):
    """A text that fits into a log and is valid UTF-8."""
    return text[-TEXT_MAX:].encode("utf-8", "replace").decode("utf-8")


def error_of(exc):
    """An exception as the master gets it."""
    return {
        "type": type(exc).__name__,
        "text": cut(str(exc)),
        "trace": cut("".join(traceback.format_exception(type(exc), exc, exc.__traceback__))),
    }


class Server:
    """Reads requests, answers them with the functions of a class of uses."""

    def __init__(self, pipe, site, use):
        self.pipe = pipe
        self.site = site
        self.operations = site.operations(use)
        self.stamp = site.stamp()

    def serve(self):
        while True:
            body = self.pipe.read()
            if body is None:
                return
            if self.site.stamp() != self.stamp:
                # Loaded modules are old: a new process makes the call.
                self.send({"stale": True})
                return
            if not self.answer(self.site.loads(body)):
                return

    def answer(self, message):
        """Makes a call; False if this process must not make another."""
        try:
            call = self.operations[message["op"]]
            self.send({"value": call(message["given"], self.event)})
            return True
        except MemoryError as exc:
            exc.__traceback__ = None
            self.send({"error": {"type": "MemoryError", "text": "", "trace": ""}, "last": True})
            return False
        except (Exception, SystemExit) as exc:
            self.send({"error": error_of(exc)})
            return True

    def event(self, tag, data):
        self.send({"event": [tag, data]})

    def send(self, message):
        self.pipe.write(self.site.dumps(message))


def main():
    config, use, memory = sys.argv[1:4]
    pipe = Pipe()
    threading.Thread(target=end_with_master, args=(pipe.fd,), daemon=True).start()
    limit(int(memory))
    from site_salt import Site

    # Modules must not find ours by accident.
    sys.path.pop(0)
    site = Site(config)
    server = Server(pipe, site, use)
    server.send({"ready": site.version})
    server.serve()


if __name__ == "__main__":
    main()
