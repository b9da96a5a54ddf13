#!/usr/bin/env python3
"""A client of Culvert's protocol between processes, with nothing but Python 3 on Linux (x86-64).

It was written from docs/ipc-protocol.md alone, to show that this page is enough, and to be copied: it lists what a
server offers, receives things, and joins a ring as FIFO or MAILBOX. It uses no GPU. So it reads memory of the software twin,
whose descriptors are files, and it joins rings whose timelines are counters.

    culvert_ipc.py NAME                               what the server NAME offers
    culvert_ipc.py NAME RING [--frames N] [--mailbox] number, slot, size and CRC-32 of each frame

SPDX-License-Identifier: MIT
"""
import argparse
import array
import fcntl
import mmap
import os
import re
import select
import socket
import struct
import sys
import threading
import time
import zlib

MAGIC, VERSION, BYTES, MOST_FDS, MOST_OFFERS, PAGE = 0x43504943, 2, 512, 16, 65536, 4096
HELLO, LIST, RECEIVE, CHUNKS, JOIN, LEAVE, WAKE, ERROR = range(1, 9)
HEADER = struct.Struct("<6I")  # magic, version, type, sequence, descriptors, flags
KINDS = ("", "VMM", "VECTOR", "BUFFER", "IMAGE", "SEMAPHORE", "RING", "CUDA_MEMORY", "EVENT", "POOL", "POOL_MEMORY",
         "VMM_FABRIC", "POOL_FABRIC")
PLAIN = ("CUDA_MEMORY", "EVENT", "POOL_MEMORY", "VMM_FABRIC", "POOL_FABRIC")  # come as bytes, without a descriptor
DESCRIPTION = struct.Struct("<64s64s2I16s3Q4IQ14I2QI")
FIELDS = ("name text kind handle_type device allocation_size offset size dedicated memory_type_bits element_format "
          "element_size element_count image_type format width height depth array_layers mip_levels tiling usage "
          "create_flags color alpha semaphore_type slots value generation parts").split()
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,62}\Z")
# The ring's page, and the consumer's: offsets of their words
RING_MAGIC, RING_SLOTS, RING_STATE, PRODUCER_WAITS, HEAD, FRAMES = 0, 4, 8, 12, 16, 24
READY, DONE, NEXT, HOLD, WAITS, STATE, LAST, FIRST, DROPPED = 0, 128, 256, 264, 272, 276, 280, 792, 800
RUNS, LIVES, LEFT = 1, 1, 2  # a ring runs; a consumer lives, and has left
FIFO, MAILBOX = 0, 1
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW

class Refused(Exception):
    """The server said no; the connection stays. .result and .reason are its numbers."""
    def __init__(self, result, reason, text):
        super().__init__(text)
        self.result, self.reason = result, reason

class Gone(Exception): """The server has ended, or has closed the connection."""
class Dropped(Gone): """The producer has dropped this consumer, and runs on."""
class Broken(Exception): """What the server sent is no message of this protocol."""
class Late(Exception): """It did not come in time."""

def close_all(fds):
    for fd in fds:
        os.close(fd)

def text_of(raw):
    """The letters up to the 0, which must be there; behind it all is 0."""
    text, zero, rest = raw.partition(b"\0")
    if not zero or any(rest):
        raise Broken("a text goes on behind its end")
    return text.decode("utf-8", "replace")

def sealed_size(fd):
    """The bytes of a file that nobody can cut off while it is mapped."""
    try:
        sealed = fcntl.fcntl(fd, fcntl.F_GET_SEALS) & SEALS == SEALS
    except OSError:  # not a memfd, or no file at all
        sealed = False
    if not sealed:
        raise Broken("a file is not sealed: it could shrink under its mapping")
    return os.fstat(fd).st_size

def map_page(fd, writable):
    """A page as 8-byte and 4-byte words. Both views read and write a word in one access."""
    if sealed_size(fd) != PAGE:
        raise Broken(f"a page has not {PAGE} bytes")
    access = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    page = memoryview(mmap.mmap(fd, PAGE, mmap.MAP_SHARED, access))
    return page.cast("Q"), page.cast("I")

class Thing:
    """What was received: the fields of its description, `data` for plain bytes, `fd` for a descriptor."""

    def __init__(self, fields, data, fd):
        self.__dict__.update(fields)
        self.data, self.fd = data, fd

    def memory(self):
        """The bytes in use, without a copy. Memory of the software twin alone: it is a file, which says what it has."""
        size = sealed_size(self.fd)
        head = os.pread(self.fd, 24, 64)
        if len(head) < 24 or head[:8] != b"culvVMM1":
            raise Broken("the memory is not the software twin's: a CPU cannot read it")
        start, room = struct.unpack("<QQ", head[8:])
        if start > size or room > size - start or self.allocation_size > room:
            raise Broken("the file has less than its description says")
        used = self.size or self.allocation_size - self.offset
        whole = memoryview(mmap.mmap(self.fd, size, mmap.MAP_SHARED, mmap.PROT_READ))
        return whole[start + self.offset:start + self.offset + used]

    def close(self):
        os.close(self.fd)

class Client:
    """A connection. Questions wait for their answers, at most `timeout` seconds."""

    def __init__(self, name, directory=None, timeout=10.0, users=None):
        if not NAME.match(name):
            raise ValueError("that is no name")
        self.timeout, self.sequence = timeout, 0
        self.socket = self._reach(f"{directory}/{name}" if directory else f"\0culvert/{name}", timeout)
        # Whoever comes first may listen at an abstract name.
        who = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.server_pid, user, _ = struct.unpack("3i", who)
        if user not in (users if users is not None else (os.geteuid(),)):
            self.close()
            raise PermissionError(f"the server is of user {user}")
        self.ask(HELLO, struct.pack("<II16s", os.getpid(), 0, bytes(16)))

    @staticmethod
    def _reach(address, timeout):
        until = time.monotonic() + timeout
        while True:
            one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                one.setblocking(False)
                one.connect(address)
                return one
            except (ConnectionRefusedError, FileNotFoundError, BlockingIOError) as error:
                one.close()
                if time.monotonic() > until:
                    raise Late(f"there is no server: {error}") from error
                time.sleep(0.002)

    def close(self):
        self.socket.close()

    def _send(self, kind, sequence, body):  # this client has no descriptors to send
        message = HEADER.pack(MAGIC, VERSION, kind, sequence, 0, 0) + body
        self.socket.send(message.ljust(BYTES, b"\0"), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def tell(self, kind, body=b""):
        """What has no answer."""
        try:
            self._send(kind, 0, body)
        except OSError:
            pass  # full: that wakes the server as well. Closed: the next call says so

    def _take(self):
        """The next message: (type, sequence, body, descriptors), or None when none has come."""
        room, flags = socket.CMSG_SPACE(4 * MOST_FDS), socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        try:
            try:
                raw, rights, flags, _ = self.socket.recvmsg(BYTES, room, flags)
            except ConnectionResetError:  # once, before what came first
                raw, rights, flags, _ = self.socket.recvmsg(BYTES, room, flags)
        except BlockingIOError:
            return None
        except OSError as error:
            raise Gone(f"the connection is over: {error}") from error
        fds = [fd for level, kind, data in rights if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
               for fd in array.array("i", data[:len(data) // 4 * 4])]
        try:
            if not raw:
                raise Gone("the server has ended, or has closed the connection")
            if len(raw) != BYTES or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                raise Broken("a message of another size, or with more than it may have")
            magic, version, kind, sequence, count, answer = HEADER.unpack_from(raw)
            if (magic, version) != (MAGIC, VERSION):
                raise Broken(f"version {version} of the protocol, and this is {VERSION}")
            if not HELLO <= kind <= ERROR or kind == LEAVE or answer != 1 or count != len(fds):
                raise Broken("a header that makes no sense")
        except BaseException:
            close_all(fds)
            raise
        return kind, sequence, raw[HEADER.size:], fds

    def look(self):
        """Takes in what came without being asked for. Raises Gone when the connection is over."""
        while (message := self._take()) is not None:
            close_all(message[3])  # a WAKE, or a late answer

    def wait(self, until):
        """Until something has come; False when the time is over."""
        return bool(select.select([self.socket], [], [], max(0.0, until - time.monotonic()))[0])

    @staticmethod
    def _no(body):
        return Refused(*struct.unpack_from("<iI", body), text_of(body[8:264]))

    def ask(self, kind, body):
        """The body of the answer, and its descriptors, which are the caller's."""
        self.sequence = self.sequence % 0xFFFFFFFF + 1
        try:
            self._send(kind, self.sequence, body)
        except BlockingIOError as error:
            raise Late("the server does not read") from error
        except OSError:
            pass  # it may have said why before it closed
        until = time.monotonic() + self.timeout
        while True:
            message = self._take()
            if message is None:
                if not self.wait(until):
                    raise Late("the server has not answered in time")
                continue
            what, sequence, answer, got = message
            if what == kind and sequence == self.sequence:
                return answer, got
            close_all(got)
            if what == ERROR and sequence in (0, self.sequence):
                raise self._no(answer)
            if what != WAKE and sequence >= self.sequence:
                raise Broken("it answers what was not asked")

    @staticmethod
    def _describe(body, at):
        fields = dict(zip(FIELDS, DESCRIPTION.unpack_from(body, at)))
        fields["name"] = fields["name"].split(b"\0")[0].decode("ascii", "replace")
        fields["text"] = text_of(fields["text"])
        if not NAME.match(fields["name"]) or not 1 <= fields["kind"] < len(KINDS):
            raise Broken("a name or a kind that is none")
        fields["kind"] = KINDS[fields["kind"]]
        if fields["offset"] + fields["size"] > fields["allocation_size"]:
            raise Broken("a description that leaves its allocation")
        return fields

    def list(self):
        things = []
        while True:
            body, _ = self.ask(LIST, struct.pack("<Q", len(things)))
            total = struct.unpack_from("<Q", body, 8)[0]
            if total > MOST_OFFERS:
                raise Broken("more things than a server may have")
            if total <= len(things):
                return things
            things.append(Thing(self._describe(body, 16), None, None))

    def receive(self, name):
        body, fds = self.ask(RECEIVE, name.encode("ascii").ljust(64, b"\0"))
        try:
            fields = self._describe(body, 0)
            kind = fields["kind"]
            if fields["name"] != name or len(fds) != (0 if kind in PLAIN or kind in ("VECTOR", "RING") else 1):
                raise Broken("it is another thing's, or lacks its descriptor")
        except BaseException:
            close_all(fds)
            raise
        data = body[DESCRIPTION.size:DESCRIPTION.size + 64] if kind in PLAIN else None
        return Thing(fields, data, fds[0] if fds else None)

    def join(self, ring, policy=FIFO):
        return Consumer(self, ring, policy)

class Consumer:
    """A side of a ring whose timelines are counters. It holds one frame at a time."""

    def __init__(self, client, ring, policy):
        self.client, self.ring, self.policy = client, ring, policy
        self.next, self.done, self._lock, self._memory = None, 0, threading.Lock(), {}
        question = struct.pack("<64sQIIIIQI", ring.encode("ascii"), 0, policy, 0, 0, 0, 0, 0)
        self.join, fds = client.sequence % 0xFFFFFFFF + 1, []
        try:
            body, fds = client.ask(JOIN, question)
            _, _, timelines, self.slots, self.parts, page, _ = struct.unpack_from("<QIIIIQI", body)
            if timelines != 0 or page != PAGE or len(fds) != 2:
                raise Broken("the ring's timelines are a graphics API's, or its answer makes no sense")
            self.ring64, self.ring32 = map_page(fds[0], False)
            self.mine64, self.mine32 = map_page(fds[1], True)
            if self.ring32[RING_MAGIC // 4] != 0x474E4952 or self.ring32[RING_SLOTS // 4] != self.slots:
                raise Broken("the ring's page is of another kind")
        except BaseException:
            client.tell(LEAVE, struct.pack("<Q", self.join))  # late answers make a consumer, too
            raise
        finally:
            close_all(fds)
        self.mine32[STATE // 4] = LIVES
        client.tell(WAKE)

    def _barrier(self):
        """Between a write and a later read of another word: taking a lock is a locked instruction."""
        self._lock.acquire()
        self._lock.release()

    def _find(self, frame):
        words = self.ring64[FRAMES // 8:FRAMES // 8 + self.slots]
        return next((slot for slot in range(self.slots) if words[slot] == frame + 1), None)

    def _look_for_frame(self):
        if self.next is None:
            first = self.mine64[FIRST // 8]
            if first == 0:
                return False  # the producer has not seen yet that we live
            self.next = first - 1
        while True:
            head = self.ring64[HEAD // 8]
            if head <= self.next:
                return False
            if self.policy == FIFO:
                self.frame, self.slot = self.next, self._find(self.next)
                if self.slot is None:
                    raise Broken("the producer has overwritten a frame that was not given back")
                return True
            self.mine64[HOLD // 8] = head
            self._barrier()
            self.frame, self.slot = head - 1, self._find(head - 1)
            if self.slot is not None:
                return True
            self._let_go()
            if self.ring64[HEAD // 8] == head:
                return False

    def _look(self):
        try:
            self.client.look()
        except Gone as gone:
            raise Dropped("the producer has dropped this consumer") if self.mine32[DROPPED // 4] else gone

    def acquire(self, timeout=10.0):
        """Holds a frame and returns its number, once the producer's GPU has written it. None: the ring has ended."""
        until = time.monotonic() + timeout
        while True:
            self._look()
            runs = self.ring32[RING_STATE // 4] == RUNS
            if self._look_for_frame():
                break
            if not runs:
                return None
            if self.mine32[WAITS // 4] == 0:
                self.mine32[WAITS // 4] = 1
                self._barrier()
                continue  # once more: a frame may have come before the word
            if not self.client.wait(until):
                self.mine32[WAITS // 4] = 0
                raise Late("no frame came in time")
        self.mine32[WAITS // 4] = 0
        while self.mine64[READY // 8] < self.frame + 1:  # nobody wakes us for this
            self._look()
            if time.monotonic() > until:
                self._let_go()  # unread; FIFO gets it again
                raise Late("the frame is not ready in time")
            time.sleep(0.0005)
        return self.frame

    def data(self, part=0):
        """The bytes of the frame that is held. They are the producer's memory: use them before release()."""
        name = f"{self.ring}.{self.slot}.{part}"
        if name not in self._memory:
            thing = self.client.receive(name)
            self._memory[name] = thing.memory()
            thing.close()
        return self._memory[name]

    def _let_go(self):
        self.mine64[HOLD // 8] = 0
        self._barrier()
        if self.ring32[PRODUCER_WAITS // 4]:
            self.client.tell(WAKE)

    def release(self):
        self.done += 1
        self.mine64[DONE // 8] = self.done  # the CPU has read all that it will
        self.mine64[LAST // 8 + self.slot] = self.done
        if self.policy == FIFO:
            self.next = self.mine64[NEXT // 8] = self.frame + 1
        self._let_go()

    def leave(self):
        self.mine32[STATE // 4] = LEFT
        self.client.tell(LEAVE, struct.pack("<Q", self.join))

def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("name")
    parser.add_argument("thing", nargs="?")
    parser.add_argument("--frames", type=int, default=1)
    parser.add_argument("--mailbox", action="store_true")
    a = parser.parse_args()
    client = Client(a.name)
    if a.thing is None:
        for thing in client.list():
            print(thing.kind, thing.name, thing.size or thing.allocation_size, thing.text)
    else:
        consumer = client.join(a.thing, MAILBOX if a.mailbox else FIFO)
        for _ in range(a.frames):
            if consumer.acquire() is None:
                break
            data = consumer.data()
            print(consumer.frame, consumer.slot, len(data), f"{zlib.crc32(data):08x}")
            consumer.release()
        consumer.leave()

if __name__ == "__main__":
    try:
        main()
    except (Refused, Gone, Broken, Late, OSError) as error:
        sys.exit(f"culvert_ipc.py: {error}")
