#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""silent_servers.py DIRECTORY: servers that keep a client waiting, at sockets of this directory.

It prints "ready" when all listen, and goes on till it is killed. docs/ipc-protocol.md has the bytes.
"""

import os
import socket
import struct
import sys
import threading
import time

HELLO, LIST, WAKE = 1, 2, 7
SIZE = 512


def message(kind, sequence, body=b""):
    return (struct.pack("<6I", 0x43504943, 2, kind, sequence, 0, 1) + body).ljust(SIZE, b"\0")


def listen(directory, name, backlog=8):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(os.path.join(directory, name))
    s.listen(backlog)
    return s


def greeting(question):
    return message(HELLO, struct.unpack_from("<I", question, 12)[0], struct.pack("<2I", os.getpid(), 0))


def mute(c):
    """Says who it is, and no more."""
    c.send(greeting(c.recv(SIZE)))
    while c.recv(SIZE):
        pass


def wakes(c):
    """Wakes without end, in place of an answer."""
    c.send(greeting(c.recv(SIZE)))
    while True:
        c.send(message(WAKE, 0))


def other(c):
    """Answers for another number than was asked, which describes nothing."""
    c.send(greeting(c.recv(SIZE)))
    while True:
        sequence = struct.unpack_from("<I", c.recv(SIZE), 12)[0]
        c.send(message(LIST, sequence, struct.pack("<2Q", 65536, 65536)))


def endless(c):
    """There is always one more offer, and each takes a while."""
    c.send(greeting(c.recv(SIZE)))
    while True:
        sequence, number = struct.unpack_from("<12xI8xQ", c.recv(SIZE), 0)
        time.sleep(0.002)
        name = b"cells".ljust(64, b"\0") + bytes(64) + struct.pack("<2I16xQ", 1, 1, 4096)
        c.send(message(LIST, sequence, struct.pack("<2Q", number, 65536) + name))


def serve(listener, role):
    while True:
        c, _ = listener.accept()
        try:
            role(c)
        except (OSError, struct.error):
            pass
        c.close()


def main():
    directory = sys.argv[1]
    kept = [listen(directory, "silent-%d" % i) for i in range(20)]
    for role in (mute, wakes, other, endless):
        s = listen(directory, role.__name__)
        kept.append(s)
        threading.Thread(target=serve, args=(s, role), daemon=True).start()
    listen(directory, "dead").close()
    full = listen(directory, "full", 0)
    kept.append(full)
    try:
        while True:
            c = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            c.setblocking(False)
            c.connect(os.path.join(directory, "full"))
            kept.append(c)
    except BlockingIOError:
        pass
    print("ready", flush=True)
    threading.Event().wait()


main()
