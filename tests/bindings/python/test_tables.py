# SPDX-License-Identifier: MIT
"""Tables: an interrupt behind each call, each name after close(), close() behind each other call, and tensors of all kinds to
everything that takes one. What may crash runs in a process of its own."""
import copy
import ctypes
import os
import pickle
import shutil
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import culvert
from culvert import draw, gl as cgl

pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")

HEAD = '''
import contextlib, culvert, culvert.gl, faulthandler, gc, itertools, numpy as np, os, sys, threading, time, warnings
from culvert import draw
faulthandler.enable()
warnings.simplefilter("ignore")
ADD = draw.spirv("""#version 450
layout(local_size_x = 64) in;
layout(binding = 0, std430) buffer A { float a[]; };
void main() { a[gl_GlobalInvocationID.x] += 1; }""", "comp")
DOTS = draw.spirv("""#version 450
layout(binding = 0, std430) readonly buffer A { vec2 p[]; };
void main() { gl_Position = vec4(p[gl_VertexIndex], 0, 1); gl_PointSize = 1; }""", "vert")
COLOR = draw.spirv("""#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(1); }""", "frag")
keep = culvert.vulkan.open()  # the driver stays
keep_buffer = keep.vk.buffer(4096)

def of_vector(g, make):
    vector = g.device.vector(1 << 21, exportable=True)
    made = make(vector)
    made.kept = vector
    return made

MAKE = dict(
    buffer=lambda g: g.vk.buffer(4096), timeline=lambda g: g.vk.timeline(), image=lambda g: g.vk.image(37, 8, 8),
    ring=lambda g: g.ring([culvert.ring_buffer(4096)], depth=2), vector=lambda g: g.device.vector(4096),
    stream=lambda g: g.device.stream(), add=lambda g: draw.Compute(g, ADD),
    adopted=lambda g: of_vector(g, g.vk.adopt), vector_view=lambda g: of_vector(g, g.vk.vector_view),
    dots=lambda g: draw.Pipeline(g, DOTS, COLOR, topology="points"), target=lambda g: draw.Target(g, 16, 16),
    view=lambda g: culvert.show(np.zeros((8, 8), "f4"), gpu=g, window=False),
    server=lambda g: culvert.ipc.Server(g.device, f"tables-{os.getpid()}-{next(numbers)}"))
numbers = itertools.count()

class Session(dict):
    """A context, and objects on it that are made when somebody asks for them."""
    def __missing__(self, name):
        self[name] = made = culvert.vulkan.open() if name == "gpu" else MAKE[name](self["gpu"])
        return made

def session(*names):
    made = Session()
    for name in ("gpu", *names):
        made[name]
    return made

def interrupted(n, names, calls):
    """Whether they got as far as the n-th return of a function with one of the names, behind which a KeyboardInterrupt comes."""
    count = 0
    def profile(frame, event, arg):
        nonlocal count
        count += event == "return" and frame.f_code.co_name in names
        if count == n:
            sys.setprofile(None)
            raise KeyboardInterrupt
    sys.setprofile(profile)
    try:
        for call in calls:
            call()
        return False
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
'''


LONG = int(os.environ.get("CULVERT_TEST_LONG", 0))  # 1: behind each call, which takes long


def program(says, text, *arguments, head=""):
    """A program that says this, whose end leaves nothing behind and is told in its last line. One that is late ends with a status,
    and says where each thread is."""
    late = f"faulthandler.dump_traceback_later({240 + 600 * LONG}, exit=True)\n"
    ended = subprocess.run([sys.executable, "-c", HEAD + head + late + textwrap.dedent(text), *arguments], capture_output=True, text=True,
                           timeout=250 + 600 * LONG, env=dict(os.environ, XDG_RUNTIME_DIR="/tmp"))
    assert (ended.returncode, ended.stdout) == (0, says + "\n"), ended.stdout + ended.stderr[-3000:]
    assert "still there" not in ended.stderr, ended.stderr[-3000:]
    print(*ended.stderr.splitlines()[-1:])
    return ended.stderr


def test_an_interrupt_behind_each_call():
    """A KeyboardInterrupt behind each call of Vulkan's and of Culvert's in close(). Closed again, or dropped, all goes, and nothing is
    left behind."""
    program("True 1 1", """
        CALLS = ("call", "_take_and_destroy", "send", "shut", "drop", "_give_up", "_left")

        there, n, goes_on = set(), 0, True
        while goes_on:
            n += 1 if n > 55 else 2  # behind each one where the device's handles go
            many = n % 3 or n > 55
            made = session("buffer", "timeline", "ring", "stream", *(["vector", "add", "target"] if many else []))
            if many:
                made["add"](A=made["buffer"])
            things = [made["gpu"]] if n % 5 == 0 else list(reversed(list(made.values())))
            goes_on = interrupted(n, CALLS, [thing.close for thing in things]) or not many or n % 5 == 0
            if n % 4:
                for thing in things:
                    thing.close()
                assert all(thing.closed for thing in made.values())
            made = things = thing = None
            gc.collect()
            there.add((len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))))
        print(n > 60, len(culvert._lib._roots), len(there))
    """)


def test_an_interrupt_in_a_draw_while_cuda_is_late():
    """Behind each call of it. The next draw of the context is whole and in order, and the context ends."""
    program("True True", """
        CALLS = ("call", "send", "_signal", "_wait", "note", "submit")
        made = session("add")
        gpu, add, f = made["gpu"], made["add"], made["gpu"].functions
        cut, whole = gpu.vk.buffer(4096), gpu.vk.buffer(4096)
        for b in cut, whole:
            np.asarray(b.tensor("float32"))[:] = 0
        add(A=cut)
        n, goes_on = 0, True
        while goes_on:
            n += 1
            gate = gpu.vk.timeline()
            gate.wait(None, 1)
            info = culvert.vulkan.VkSemaphoreSignalInfo(semaphore=gate.handle, value=1)
            late = threading.Timer(.02, f.vkSignalSemaphore, (gpu.handle, info))
            late.start()
            goes_on = interrupted(n, CALLS, [lambda: add(A=cut)])
            add(A=whole)
            late.join()
            gate.close()
            assert np.asarray(whole.tensor("float32"))[0] == n, n
        gpu.close()
        print(n > 15, gpu.closed)
    """)


def test_an_interrupt_in_a_turn_while_cuda_is_late():
    """Behind each call of a turn's beginning and end. It is over then, or never was: OpenGL comes after it, and more turns follow."""
    program("done", """
        sys.path.insert(0, sys.argv[1])
        from gl_headless import Headless
        gpu, opened = session()["gpu"], 0
        gate, timeline, late, other = gpu.vk.timeline(), gpu.vk.timeline(), gpu.device.stream(), gpu.device.stream()
        KINDS = dict(timeline=lambda: timeline, ring=lambda: gpu.ring([culvert.ring_buffer(4096)], depth=2))
        try:
            screen, gl, memory = Headless(), culvert.gl.attach(gpu.device), gpu.device.vector(1 << 21, exportable=True)
            name = screen.buffer(4096)
            KINDS.update(gl_ring=lambda: gl.ring([culvert.gl.ring_buffer(4096)], 2), gl_registration=lambda: gl.register_buffer(name),
                         gl_buffer=lambda: gl.buffer(4096), gl_share=lambda: gl.share(memory.tensor()))
        except RuntimeError as e:
            print("without OpenGL:", e, file=sys.stderr)

        def cuda(stream=other, byte=0):
            if thing is timeline:
                byte = byte and timeline.last_value + 1
                with timeline.frame(signal=byte or None).cuda(stream):
                    gate.wait(stream, opened)
                    written.append(byte)
                return
            with thing.cuda(stream, 10**9) as turn:
                if byte:
                    gate.wait(stream, opened)
                    where = turn if hasattr(turn, "pointer") else turn.buffer()
                    gpu.device.cuda.cuMemsetD8Async(where.pointer, byte, 4096, stream.pointer)
                    written.append(byte)

        def frame(timeout=10**9):
            with thing.frame(timeout=timeout):
                pass

        for kind, side in [(kind, side) for kind in KINDS for side in ((cuda, frame) if kind.endswith("ring") else (cuda,))]:
            thing, n, goes_on = KINDS[kind](), -2, True  # -1: nothing interrupts it, and what is looked up once is there
            while goes_on or n < 1:
                n, opened, written = n + 1, opened + 1, []
                info = culvert.vulkan.VkSemaphoreSignalInfo(semaphore=gate.handle, value=opened)
                later = threading.Timer(.03, gpu.functions.vkSignalSemaphore, (gpu.handle, info))
                if side is frame:
                    cuda()
                later.start()
                goes_on = interrupted(n, ("call", "__call__", "_need"), [frame if side is frame else lambda: cuda(late, 2 + n % 200)])
                if kind.endswith("ring"):
                    with contextlib.suppress(culvert.LateError):
                        while True:
                            frame(3 * 10**7)
                elif thing is timeline:
                    timeline.wait(other, written[0] if written else 0)
                    other.synchronize(10**9)
                else:
                    cuda()
                    if written:
                        end = getattr(thing, "offset", 0) + 4096
                        assert screen.read_buffer(name if kind == "gl_registration" else thing.name, end)[-1] == written[0], (kind, n)
                later.join()
            print(kind, n, file=sys.stderr)
            if thing is not timeline:
                thing.close()
        print("done")
    """, os.path.dirname(__file__))


@pytest.mark.parametrize("whole", [False, True])
def test_each_name_after_close(whole):
    """Of an object, or of all objects after the context's close(): what needs it raises, and nothing crashes."""
    program("True True", """
        made = session(*MAKE)
        gpu, other = made["gpu"], keep.vk.buffer(4096)
        made.update(device=gpu.device, vk=gpu.vk, kernels=gpu.functions, tensor=made["buffer"].tensor("float32"),
                    slot=made["ring"].buffer(0), frame=made["ring"].frame(), turn=made["timeline"].frame(wait=0, signal=1))
        if sys.argv[1] == "True":
            gpu.close()
        ARGS = [(), (0,), (1,), (4096,), ("float32",), (other,), (None, 1), (made["dots"], 4), ([],), (0, [])]
        calls = raised = 0
        for kind, thing in made.items():
            if hasattr(thing, "close"):
                thing.close()
            for name in [n for n in dir(type(thing)) if not n.startswith("_")] + ["__call__", "__len__", "__array__", "__dlpack__", "__repr__"]:
                if name in ("close", "make") or (kind == "vk" and name == "adopt"):
                    continue
                try:
                    found = getattr(thing, name)
                except (AttributeError, ValueError):
                    continue
                for args in ARGS if callable(found) else ():
                    for more in ({}, dict(A=other), dict(A=made["buffer"])) if name in ("__call__", "draw") else ({},):
                        calls += 1
                        print(kind, name, args, more, file=sys.stderr)
                        try:
                            found(*args, **more)
                        except Exception:
                            raised += 1
        for call in ("vkCreateFence", "vkDeviceWaitIdle", "vkDestroyFence"):
            try:
                getattr(gpu.functions, call)(1, 2, 3)
            except ValueError as e:
                assert str(e) == "this Context is closed", e
        print(calls > 1000, raised > 800)
    """, str(whole))


# Calls, and for those of an object whose they are. The context is everybody's.
THE_CALLS = '''
def turn(t):
    with t["ring"].cuda(timeout=10**9): pass
    with t["ring"].frame(timeout=10**9): pass

def signal(t):
    with t["timeline"].frame(signal=t["timeline"].last_value + 1).cuda(): pass

def submit(t):
    c, f = t["gpu"].commands(), t["gpu"].functions
    f.vkBeginCommandBuffer(c, culvert.vulkan.VkCommandBufferBeginInfo())
    f.vkEndCommandBuffer(c)
    t["gpu"].submit(c)

of = lambda name: lambda call: lambda t: call(t[name])
MINE = [
    *map(of("buffer"), (lambda b: np.asarray(b.tensor("int32")), lambda b: b.tensor().__dlpack__(), repr)),
    lambda t: t["add"](A=t["buffer"]), signal, turn, *map(of("ring"), (lambda r: np.asarray(r.buffer(0).tensor()), lambda r: r.drain(10**9))),
    *map(of("stream"), (lambda s: s.synchronize(),)), *map(of("vector"), (lambda v: v.grow(v.size + 1), lambda v: np.asarray(v.tensor()))),
    *map(of("image"), (lambda i: i.array(),)), lambda t: t["target"].draw(t["dots"], 8, A=t["buffer"]),
    *map(of("target"), (lambda p: p.png(),)), *map(of("view"), (lambda v: v.update(), lambda v: v.value_at(3, 3))),
    *map(of("adopted"), (lambda a: a.buffers(), repr)), *map(of("vector_view"), (lambda v: v.buffers(), lambda v: v.update())),
    *map(of("server"), (lambda s: s.poll(), lambda s: s.offer(f"v{next(numbers)}", keep_buffer)))]
OWNERS = ["buffer"] * 4 + ["timeline"] + ["ring"] * 3 + ["stream"] + ["vector"] * 2 + ["image", "dots", "target"] + ["view"] * 2 \\
    + ["adopted"] * 2 + ["vector_view"] * 2 + ["server"] * 2
assert len(MINE) == len(OWNERS)
CALLS = [*MINE, submit, *map(of("gpu"), (lambda g: g.wait_idle(), lambda g: g.device.counts(), repr, *MAKE.values()))]

def owners(n):
    return ("gpu", OWNERS[n]) if n < len(OWNERS) else ("gpu",)
'''


def test_close_behind_each_call():
    """Of Culvert's, by another thread, while the first one is on its way to the next one. The first one's call goes on, or says that
    the object is closed. CULVERT_TEST_LONG: behind each, not each third, or each 29th of draws, which have many."""
    told = program("[] True", """
        problems, points, many = [], 0, (3, 12, 13, 14)
        for n, call in enumerate(CALLS):
            step = 1 if int(sys.argv[1]) else 29 if n in many else 3
            for owner in owners(n):
                at, closers = -n % step, [1]
                while closers:
                    at, closers, count, t = at + step, [], 0, session(owner)
                    if n < len(OWNERS):
                        call(t)

                    def profile(frame, event, arg):
                        global count
                        count += event == "return" and frame.f_code.co_name in ("leave", "_need", "last_of", "make")
                        if count == at:
                            sys.setprofile(None)
                            closers.append(threading.Thread(target=t[owner].close))
                            closers[0].start()
                            closers[0].join(.02)  # it may wait for this thread's call

                    sys.setprofile(profile)
                    try:
                        call(t)
                    except ValueError as e:
                        if "is closed" not in str(e) and getattr(e, "reason", "") != "NOT_MAPPED":
                            problems.append((n, owner, at, repr(e)))
                    except BaseException as e:
                        problems.append((n, owner, at, repr(e)))
                    finally:
                        sys.setprofile(None)
                    points += len(closers)
                    for closer in closers:
                        closer.join(20)
                        assert not closer.is_alive(), (n, owner, at)
                    t["gpu"].close()
        print(problems, points > 100)
        print(points, "points", file=sys.stderr)
    """, str(LONG), head=THE_CALLS)
    assert "Exception ignored" not in told, told[-2000:]


def test_no_call_goes_by_a_refusal(gpu, shader):
    """ctypes forgets an interrupt that comes while it says ArgumentError."""
    seen = []

    def trace(frame, event, arg):
        if event == "exception" and issubclass(arg[0], ctypes.ArgumentError):
            seen.append(frame.f_code.co_name)
        return trace

    sys.settrace(trace)
    try:
        with gpu.vk.timeline(), gpu.ring([culvert.ring_buffer(4096)]), gpu.vk.buffer(4096) as a, gpu.vk.buffer(4096) as b:
            shader(A=a, B=b)
    finally:
        sys.settrace(None)
    assert not seen


def test_a_ring_closes_behind_its_frames(gpu):
    """Of which the context was not told: here the queue is held behind its back."""
    timeline, ring = gpu.vk.timeline(), gpu.ring([culvert.ring_buffer(4096)], depth=2)
    with ring.cuda():
        pass
    points = (culvert.vulkan.VkSemaphoreSubmitInfo * 1)(culvert.vulkan.VkSemaphoreSubmitInfo(
        semaphore=timeline.handle, value=1, stageMask=culvert.vulkan.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT))
    gpu.functions.vkQueueSubmit2(gpu.queue, 1, culvert.vulkan.VkSubmitInfo2(
        waitSemaphoreInfoCount=1, pWaitSemaphoreInfos=ctypes.addressof(points)), 0)
    with ring.frame():
        pass
    thread = threading.Thread(target=ring.close)
    thread.start()
    thread.join(0.3)
    waits = thread.is_alive()
    gpu._home._signal(timeline.handle, 1)
    thread.join()
    assert waits and ring.closed
    timeline.close()


class Image:
    """As PIL's: the interface gives a copy of the bytes."""

    def __init__(self, array):
        self.__array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "data": array.tobytes(), "version": 3}


COPY = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0, std430) readonly buffer A { float a[]; };
layout(binding = 1, std430) writeonly buffer B { float b[]; };
void main() { b[0] = a[0]; }
"""
POINT = """#version 450
void main() { gl_Position = vec4(0, 0, 0, 1); gl_PointSize = 1; }
"""
COLOR = """#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(1); }
"""


@pytest.fixture
def shader(gpu):
    with draw.Compute(gpu, COPY) as made:
        yield made


def read_only(array):
    array = array[:]
    array.flags.writeable = False
    return array


# A view of an array of 32 x 32 float32 on Culvert's memory, and who takes it.
VIEWS = {
    "whole": (lambda a: a, "read written adopt show gl"), "steps": (lambda a: a[::2, ::2], "adopt show"),
    "columns": (lambda a: a[:, 4:8], "adopt show"), "turned": (lambda a: a.T, "adopt show"), "backwards": (lambda a: a[::-1], "show"),
    "swapped": (lambda a: a.view(">f4"), "show"), "read-only": (read_only, "read adopt show gl"), "image": (Image, "show gl"),
    "doubles": (lambda a: a.view("f8"), "adopt gl"),
    "odd": (lambda a: a.reshape(-1).view("u1")[1:-3].view("f4").reshape(31, -1), "read written adopt show gl"),
    "no elements": (lambda a: a[:0], "")}


@pytest.mark.parametrize("kind", VIEWS)
def test_everything_that_takes_a_tensor(gpu, shader, kind):
    """It takes what the tensor is, or refuses it with what to do."""
    view, takes = VIEWS[kind]
    with gpu.vk.buffer(4096) as buffer, gpu.vk.buffer(4096) as other, gpu.device.vector(4096, exportable=True) as vector:
        array, out = (np.asarray(m.tensor("float32", (32, 32))) for m in (buffer, vector))
        array[:] = out[:] = np.arange(1024, dtype="f4").reshape(32, 32)
        tensor = view(array)
        calls = {"read": lambda: shader(A=tensor, B=other), "written": lambda: shader(A=other, B=tensor),
                 "adopt": lambda: gpu.vk.adopt(view(out)).close(), "gl": lambda: cgl.Source(tensor)}
        for name, call in calls.items():
            if name in takes.split():
                if kind != "odd" or name not in ("read", "written"):  # the GPU wants another alignment
                    call()
            else:
                with pytest.raises((ValueError, TypeError), match="pass |no elements"):
                    call()
        if "show" in takes:
            values = np.ascontiguousarray(np.asarray(tensor), "f4")
            with culvert.show(tensor, gpu=gpu, window=False) as shown, culvert.show(values, gpu=gpu, window=False) as want:
                assert (np.asarray(shown.target.tensor()) == np.asarray(want.target.tensor())).all()
                assert len(shown.says) == (kind in ("swapped", "odd", "image")), shown.says
        del array, out, tensor


def test_who_waits_for_the_colours(gpu, monkeypatch):
    """A copy from pageable memory returns before its end, and a stream that is NON_BLOCKING does not wait for it."""
    done = []
    cuda = type(gpu.device.cuda)
    found = cuda._found
    with gpu.device.stream() as stream:
        monkeypatch.setattr(cuda, "_found", lambda self, name: lambda *args: (done.append((name, *args[2:])), found(self, name)(*args)))
        with culvert.show(np.zeros((8, 8), "f4"), gpu=gpu, window=False, stream=stream):
            names = [name for name, *_ in done]
        monkeypatch.undo()
    assert names[names.index("cuMemcpyHtoD") + 1] == "cuStreamSynchronize"


def test_numbers_types_and_copies(gpu, shader):
    with gpu.vk.buffer(4096) as a, gpu.vk.buffer(4096) as b, draw.Target(gpu, 8, 8) as target:
        t, timeline = a.tensor(), gpu.vk.timeline()
        for groups in ((-1,), (1 << 32,), (1.5,), (1, 1, 1, 1), ("a",)):
            with pytest.raises((ValueError, TypeError), match="groups"):
                shader(groups=groups, A=a, B=b)
        with draw.Pipeline(gpu, POINT, COLOR, topology="points") as dots:
            for numbers in ((-1,), (1 << 32,), (1.5,), (1, -1), (1, 1 << 32)):
                with pytest.raises((ValueError, TypeError), match="vertices|instances"):
                    target.draw(dots, *numbers)
        for call in (lambda: a.tensor("uint8", (2**64,)), lambda: a.tensor("uint8", (4,), strides=(2**63,)), lambda: gpu.vk.buffer(2**64),
                     lambda: a.tensor("uint8", (4,), offset=2**64), lambda: gpu.vk.image(37, 2**32 + 8, 8), lambda: gpu.device.vector(2**64),
                     lambda: gpu.functions.vkCmdDispatch(1, 1, -1, 1), lambda: t.__dlpack__(stream=3), lambda: t.__dlpack__(stream=-7),
                     lambda: t.__dlpack__(stream=True), lambda: timeline.signal(5, 1), lambda: culvert.stream_handle(-1)):
            with pytest.raises(ValueError):
                call()
        for dtype in (np.dtype(">f4"), ">f4", float, "float"):
            with pytest.raises(TypeError, match="byte order|64 bits in NumPy"):
                a.tensor(dtype)
        for thing in (t, shader, target, timeline.frame(signal=1), a, gpu.vk, gpu.device, gpu.device.stream(), gpu, timeline):
            for way in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match="neither copied nor pickled"):
                    way(thing)


def test_no_vulkan_driver():
    ended = subprocess.run([sys.executable, "-c", "import culvert\ntry: culvert.vulkan.open()\nexcept culvert.UnsupportedError as e: print(e)"],
                           env=dict(os.environ, VK_DRIVER_FILES="/nowhere.json"), capture_output=True, text=True)
    assert "DRIVER_MISSING" in ended.stdout and "culvert-info says what there is" in ended.stdout, ended.stderr
