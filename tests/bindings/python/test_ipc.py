# SPDX-License-Identifier: MIT
"""Two processes. The other one is a program of its own, whose words come by lines; NumPy reads the twin's memory."""
import contextlib
import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import culvert
from culvert import ipc, vulkan as vk
from culvert._turns import SECOND

HEAD = """
import culvert, faulthandler, numpy as np, sys
from culvert import ipc
faulthandler.dump_traceback_later(100, exit=True)
name = sys.argv[1]

def serve(server, seconds=100):
    # Till the other process says a word.
    import select
    while sys.stdin not in select.select([sys.stdin, server], [], [], seconds)[0]:
        server.poll()
    return sys.stdin.readline().strip()

def say(*words):
    print(*words, flush=True)
"""


def a_name(word):
    return f"py-{word}-{os.getpid()}"


@contextlib.contextmanager
def other(text, name):
    child = subprocess.Popen([sys.executable, "-c", HEAD + text, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield child
        assert child.wait(100) == 0
    finally:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def say(child, word):
    child.stdin.write(word + "\n")
    child.stdin.flush()


def refused(reason, says, call):
    with pytest.raises(culvert.Error, match=says) as e:
        call()
    assert e.value.reason == reason
    return e.value


RENDERER = """
with culvert.vulkan.open() as gpu, ipc.Server(gpu.device, name) as server:
    buffer, turn, picture = gpu.vk.buffer(4096), gpu.vk.timeline(), gpu.vk.image(37, 30, 16)
    numbers = np.asarray(buffer.tensor("float32"))
    numbers[:] = np.arange(1024)
    server.offer("vertices", buffer, text="x, y")
    server.offer("part", buffer.tensor("float32", (5,), offset=68))
    server.offer("turn", turn)
    server.offer("picture", picture)
    with turn.frame(signal=1).cuda():
        pass
    assert serve(server) == "look"
    with turn.frame(wait=2).cuda():
        say(numbers[:4].tolist(), numbers[17:23].tolist())
    texels = np.zeros((16, 30, 4), np.uint8)
    gpu.device.cuda.cuMemcpyAtoH(texels.ctypes.data, picture.array(), 0, 30 * 4)
    say(texels[0].ravel().tolist() == list(range(1, 121)))
    server.withdraw("part")
    assert serve(server) == "gone"
"""


def test_a_renderers_things(device):
    name = a_name("renderer")
    with other(RENDERER, name) as child, ipc.Client(device, name, label="trainer") as client:
        assert client.server_pid == child.pid and client.connected and repr(client).startswith(f"<culvert.ipc.Client open, of '{name}'")
        assert [(o.name, o.text, o.size) for o in client.offers()] == [
            (b"vertices", b"x, y", 4096), (b"part", b"", 20), (b"turn", b"", 0), (b"picture", b"", 0)]
        vertices, part, turn, picture = client.buffer("vertices"), client.buffer("part"), client.timeline("turn"), client.image("picture")
        assert repr(picture).startswith("<culvert.ipc.Image open, 30 x 16, VkFormat 37, on ") and part.size == 20
        with turn.frame(wait=1, signal=2).cuda():
            numbers = np.asarray(vertices.tensor("float32"))
            assert (numbers == np.arange(1024)).all()
            numbers[:4] = 7
            np.asarray(part.tensor("float32"))[:] = 9
            texels = device.vector(1 << 21)
            np.asarray(texels.tensor())[:] = np.arange(1, 1 + (1 << 21)).astype(np.uint8)
            picture.write(texels.tensor("uint8", (16, 30, 4)))
        say(child, "look")
        assert child.stdout.readline() == "[7.0, 7.0, 7.0, 7.0] [9.0, 9.0, 9.0, 9.0, 9.0, 22.0]\n"
        assert child.stdout.readline() == "True\n"
        refused("IPC_NAME", "nothing of that name", lambda: client.buffer("part"))
        refused("VALUE", "'vertices' is a buffer, not an image", lambda: client.image("vertices"))
        refused("VALUE", "'turn' is a semaphore, not a buffer", lambda: client.buffer("turn"))
        refused("VALUE", "'picture' is an image, not a semaphore", lambda: client.timeline("picture"))
        say(child, "gone")
        assert child.wait(100) == 0 and not client.connected
        assert refused("IPC_GONE", "has ended", lambda: client.buffer("vertices")).result == -21
        numbers[5] = 11  # what was received stays
        with pytest.raises(culvert.LateError, match="nobody has signaled 3"):
            with turn.frame(wait=3).cuda(timeout=SECOND // 20):
                pass
        with device.stream() as rescue:
            turn.signal(rescue, 3)
            rescue.synchronize()
        client.close()
        for call in (client.offers, lambda: client.buffer("vertices"), lambda: client.connected):
            with pytest.raises(ValueError, match="this Client is closed"):
                call()
        del numbers
        for thing in (vertices, part, turn, picture, texels):
            thing.close()


VIEWER = """
with culvert.Device() as device, ipc.Client(device, name) as client:
    tensor = np.asarray(client.buffer("tensor").tensor("int32"))
    say(len(tensor), tensor[:3].tolist())
    tensor += 1
    assert sys.stdin.readline() == "end\\n"
"""


def test_a_tensor_for_another_process(device):
    name, block = a_name("trainer"), 1 << 21
    with ipc.Server(device, name, max_clients=2) as server, device.vector(3 * block, max_chunk=block, exportable=True) as memory:
        everything = np.asarray(memory.tensor("int32"))
        everything[:] = np.arange(everything.size)
        server.offer("tensor", everything[1000:1100], text="steps")
        refused("IPC_NAME", "", lambda: server.offer("tensor", everything[:8]))
        with pytest.raises(ValueError, match="lies in 2 allocations"):
            server.offer("across", everything[block // 4 - 1:block // 4 + 1])
        with device.vector(block) as private:
            refused("NOT_EXPORTABLE", "requestedHandleTypes", lambda: server.offer("private", private.tensor()))
        with pytest.raises(ValueError, match="runs backwards"):
            server.offer("backwards", everything[10::-1])
        refused("VALUE", "", lambda: server.offer("a name", everything[:8]))
        with pytest.raises(TypeError, match="no tensor"):
            server.offer("nothing", 5)
        assert server.fileno() >= 0 and server.poll() == 0
        with other(VIEWER, name) as child:
            said = threading.Thread(target=lambda: lines.append(child.stdout.readline()))
            lines = []
            said.start()
            while said.is_alive():
                server.poll(SECOND // 100)
            said.join()
            assert lines == ["100 [1000, 1001, 1002]\n"] and server.clients == 1
            assert repr(server).startswith(f"<culvert.ipc.Server open, '{name}', 1 clients, on ")
            say(child, "end")
        assert server.poll(100 * SECOND) > 0 and server.clients == 0
        assert everything[999:1002].tolist() == [999, 1001, 1002] and everything[1099:1101].tolist() == [1100, 1100]
        del everything


def test_waits_end(device):
    """Nobody is there; a server that does not answer; one that is full."""
    name = a_name("late")
    began = time.monotonic()
    assert refused("IPC_NAME", name, lambda: ipc.Client(device, name, timeout=SECOND)).result == -3
    assert 1 <= time.monotonic() - began < 60
    with ipc.Server(device, name, max_clients=1) as server:
        refused("IPC_GONE", r"within 0.2 s|poll", lambda: ipc.Client(device, name, timeout=SECOND // 5))
        over = threading.Event()
        answering = threading.Thread(target=lambda: [server.poll(SECOND // 1000) for _ in iter(over.is_set, True)])
        answering.start()
        with ipc.Client(device, name) as first:
            assert first.offers() == []
            assert refused("IPC_REFUSED", "as many clients", lambda: ipc.Client(device, name, timeout=SECOND)).result == -2
            threading.Timer(1, first.close).start()
            ipc.Client(device, name, timeout=100 * SECOND).close()
        over.set()
        answering.join()
    with pytest.raises(ValueError, match="this Server is closed"):
        server.poll()
