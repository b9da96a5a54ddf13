#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""silent_servers.py DIRECTORY: servers that keep a client waiting, at sockets of this directory. What else a server
may do to a client is library-ipc.attacks'.

It prints "ready" when all listen, and goes on till it is killed. docs/ipc-protocol.md has the bytes.
"""

import os
import socket
import struct
import sys
import threading
import time

HELLO, LIST = 1, 2
SIZE = 512


def message(kind, sequence, body=b""):
    return (struct.pack("<6I", 0x43504943, 2, kind, sequence, 0, 1) + body).ljust(SIZE, b"\0")


def listen(directory, name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(os.path.join(directory, name))
    s.listen()
    return s


def greeting(question):
    return message(HELLO, struct.unpack_from("<I", question, 12)[0], struct.pack("<2I", os.getpid(), 0))


def endless(c):
    """There is always one more offer, and each takes a while."""
    c.send(greeting(c.recv(SIZE)))
    while True:
        sequence, number = struct.unpack_from("<12xI8xQ", c.recv(SIZE), 0)
        time.sleep(0.002)
        name = b"cells".ljust(64, b"\0") + bytes(64) + struct.pack("<2I16xQ", 1, 1, 4096)
        c.send(message(LIST, sequence, struct.pack("<2Q", number, 65536) + name))


def serve(listener):
    while True:
        c, _ = listener.accept()
        try:
            endless(c)
        except (OSError, struct.error):
            pass
        c.close()


def main():
    directory = sys.argv[1]
    kept = [listen(directory, "silent-%d" % i) for i in range(20)]
    kept.append(listen(directory, "endless"))
    threading.Thread(target=serve, args=(kept[-1],), daemon=True).start()
    listen(directory, "dead").close()
    print("ready", flush=True)
    threading.Event().wait()


main()
