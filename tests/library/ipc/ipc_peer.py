"""The client's half of each case of ipc_python.c: ipc_peer.py CASE SERVER. It hears one-letter words from its standard
input, and says some on its standard output. SPDX-License-Identifier: MIT"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "samples/ipc_python"))
import culvert_ipc as ipc  # noqa: E402

SIZES = {"one": 1, "odd": 4097, "many": 819200}
FRAMES = 24
FAR = 100.0  # seconds in which what must come does come
BLOCKS = [bytes((i * 7 + v) & 255 for i in range(256)) for v in range(256)]


def pattern(size, frame):
    return b"".join(BLOCKS[(b + frame * 13) & 255] for b in range((size + 255) // 256))[:size]


def require(good, what):
    if not good:
        raise SystemExit(f"ipc_peer.py {sys.argv[1]}: {what}")


def say(word):
    os.write(1, word)


def hear(word):
    got = os.read(0, 1)
    require(got == word, f"{got!r} came, not {word!r}")


def refuses(kind, call, what):
    try:
        call()
    except kind as error:
        return error
    raise SystemExit(f"ipc_peer.py {sys.argv[1]}: {what} is not refused")


def objects(client):
    offered = {thing.name: thing for thing in client.list()}
    require(sorted(offered) == sorted(SIZES), f"offered are {sorted(offered)}")
    for frame, (name, size) in enumerate(SIZES.items()):
        require((offered[name].kind, offered[name].size) == ("VMM", size), f"{name} is {vars(offered[name])}")
        require(offered[name].text == "words for the other side", "the text is another")
        thing = client.receive(name)
        require(thing.memory() == pattern(size, frame), f"{name} has other bytes")
        thing.close()
    no = refuses(ipc.Refused, lambda: client.receive("nothing"), "a name that nobody offers")
    require(no.result == -1 and str(no), "the refusal does not say why")
    refuses(ipc.Refused, lambda: client.join("odd"), "a ring that is none")
    require(len(client.list()) == len(SIZES), "the connection does not go on")


def read(consumer, number, size=None):
    data = consumer.data()
    require(data == pattern(len(data), number), f"frame {number} has other bytes")
    require(len(data) in SIZES.values() and size in (None, len(data)), f"frame {number} has {len(data)} bytes")
    consumer.release()


def leave(consumer):
    consumer.leave()
    say(b"l")
    hear(b"e")


def fifo(client):
    consumer = client.join("frames")
    say(b"j")
    for expected in range(FRAMES):
        number = consumer.acquire(FAR)
        require(number == expected, f"frame {number} came, not {expected}")
        if number == 0:
            consumer.data()
            say(b"h")
            hear(b"r")
        read(consumer, number)
    leave(consumer)


def mailbox(client):
    consumer, last = client.join("frames", ipc.MAILBOX), -1
    say(b"j")
    while last < FRAMES - 1:
        number = consumer.acquire(FAR)
        require(number >= last, f"frame {number} came after {last}")
        last = number
        read(consumer, number)
    leave(consumer)


def dropped(client):
    consumer = client.join("frames")
    say(b"j")
    require(consumer.acquire(FAR) == 0, "another frame is the first")
    consumer.data()
    say(b"h")
    hear(b"d")
    read(consumer, 0)  # the memory stays
    refuses(ipc.Dropped, lambda: consumer.acquire(FAR), "a consumer that was dropped")


def orphan(client):
    consumer = client.join("frames")
    require(consumer.acquire(FAR) == 0, "another frame is the first")
    consumer.data()
    say(b"h")
    hear(b"k")
    read(consumer, 0)  # the memory outlives who made it
    gone = refuses(ipc.Gone, lambda: consumer.acquire(FAR), "a producer that is gone")
    require(not isinstance(gone, ipc.Dropped), "it was not dropped")


hear(b"g")
globals()[sys.argv[1]](ipc.Client(sys.argv[2], timeout=FAR))
