# SPDX-License-Identifier: MIT
"""From a tensor to a picture, compared texel by texel."""
import contextlib
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import threading
import zlib

import numpy as np
import pytest

import culvert
from culvert import draw
from culvert._spirv import Module, compiled

pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")

DOTS = """#version 450
layout(binding = 0, std430) readonly buffer Points { vec2 points[]; };
layout(push_constant) uniform Push { vec2 size; uint first; } push;
void main() { gl_Position = vec4((points[push.first + gl_VertexIndex] + 0.5) / push.size * 2 - 1, 0, 1); gl_PointSize = 1; }
"""
COLOR = """#version 450
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { layout(offset = 16) vec4 tint; } push;
void main() { color = push.tint; }
"""
ADD = """#version 450
layout(local_size_x = 64) in;
layout(binding = 3, std430) readonly buffer Source { uint source[]; };
layout(binding = 1, std430) buffer Result { uint result[]; };
layout(push_constant) uniform Push { uint count; uint more; } push;
void main() { if (gl_GlobalInvocationID.x < push.count) result[gl_GlobalInvocationID.x] = source[gl_GlobalInvocationID.x] + push.more; }
"""


def test_points_to_a_picture(gpu, tmp_path):
    width, height = 253, 127
    rng = np.random.default_rng(5)
    with gpu.vk.buffer(4097 * 8) as buffer, draw.Target(gpu, width, height) as picture, \
            draw.Pipeline(gpu, DOTS, COLOR, topology="points") as dots:
        points = np.asarray(buffer.tensor("float32", (-1, 2)))
        points[:, 0], points[:, 1] = rng.integers(0, width, 4097), rng.integers(0, height, 4097)
        picture.draw(dots, 4097, clear=(0, 0, 1, 1), points=points, size=(width, height), tint=(1, 0, 0, 1))
        want = np.zeros((height, width, 4), "uint8")
        want[:, :] = (0, 0, 255, 255)
        want[points[:, 1].astype(int), points[:, 0].astype(int)] = (255, 0, 0, 255)
        assert (np.asarray(picture.tensor()) == want).all()
        # On what is there, from the last point on, and through all that has an address.
        picture.draw(dots, 1, Points=buffer, size=np.float32([width, height]), first=4096, tint=[0, 1, 0, 1])
        want[int(points[4096, 1]), int(points[4096, 0])] = (0, 255, 0, 255)
        assert picture.read() == want.tobytes()
        picture.save(tmp_path / "points.png")
    data = (tmp_path / "points.png").read_bytes()
    at = data.index(b"IDAT")
    rows = zlib.decompress(data[at + 4:at + 4 + struct.unpack(">I", data[at - 4:at])[0]])
    assert np.frombuffer(rows, "uint8").reshape(height, -1)[:, 1:].tobytes() == want.tobytes()


def test_another_gpu_solves(tmp_path):
    """Buffers of the second CUDA device are read by shaders of the first GPU, in place, and what those draw by CUDA."""
    program = f"""import pathlib, sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import culvert, test_draw
with culvert.vulkan.open(solver=1) as gpu:
    with gpu.vk.buffer(64) as buffer:
        assert culvert.api.culv_buffer_sharing(buffer._cuda()) == 3
        assert gpu.device.caps.ordinal == 1
    test_draw.test_compute_by_names(gpu)
    test_draw.test_points_to_a_picture(gpu, pathlib.Path({str(tmp_path)!r}))
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "CULVERT_SOFT_DEVICES": "2"})


def test_compute_by_names(gpu):
    with gpu.vk.buffer(4097 * 4) as a, gpu.vk.buffer(4097 * 4) as b, draw.Compute(gpu, ADD) as add:
        assert add.local_size == (64, 1, 1)
        source, result = np.asarray(a.tensor("uint32")), np.asarray(b.tensor("uint32"))
        source[:] = np.arange(4097)
        result[:] = 7
        add((65,), source=source, result=b.tensor("uint32"), count=4096, more=3)
        assert (result[:4096] == np.arange(4096) + 3).all() and result[4096] == 7
        for n in range(300):  # descriptors and command buffers are used again
            add((1,), source=result, result=result, count=1, more=1)
        assert result[0] == 303
        with gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(4097 * 4)]) as ring:
            slot = ring.buffer(1)
            add((65,), source=a, result=slot, count=4097, more=9)
            assert (np.asarray(slot.tensor("uint32")) == np.arange(4097) + 9).all()


def test_order_with_a_stream(gpu):
    """CUDA's stream before, Vulkan, and the stream again; nothing waits on the host but NumPy."""
    with gpu.vk.buffer(4097 * 4) as a, gpu.vk.buffer(4097 * 4) as b, draw.Compute(gpu, ADD) as add:
        stream, cuda = gpu.device.stream(), gpu.device.cuda
        for n in range(20):
            gpu.device.make_current()
            cuda.cuMemsetD32Async(a.pointer, n, 4097, stream.pointer)
            add((65,), stream=stream, source=a, result=b, count=4097, more=n)
            cuda.cuMemsetD32Async(a.pointer, 0, 4097, stream.pointer)
        stream.synchronize()
        assert (np.asarray(b.tensor("uint32")) == 38).all()


@pytest.mark.parametrize("inputs, kind, text", [
    (dict(sauce=1), TypeError, "the shaders have no sauce; they have Result, result, Source, source, count, more"),
    (dict(count=1), TypeError, "not given: Result or result, Source or source"),
    (dict(count=(1, 2), source="buffer", result="buffer"), ValueError, "count has 1 numbers, and 2 were given"),
    (dict(source="shifted", result="buffer"), ValueError, "source begins 4 bytes into its VkBuffer"),
    (dict(source=7, result="buffer"), TypeError, "source: int is no tensor"),
    (dict(source=np.zeros(4), result="buffer"), culvert.InvalidError, "source: .*It lies in the host's own memory.*: copy it into shared memory.*numpy.asarray"),
])
def test_wrong_inputs(gpu, inputs, kind, text):
    with gpu.vk.buffer(4097 * 4) as buffer, draw.Compute(gpu, ADD) as add:
        there = {"buffer": buffer, "shifted": np.asarray(buffer.tensor("uint32"))[1:]}
        with pytest.raises(kind, match=text.replace("(", "\\(")):
            add((1,), **{k: there.get(v, v) if isinstance(v, str) else v for k, v in inputs.items()})
        add((65,), source=buffer, result=buffer, count=0)  # nothing was lost
        with pytest.raises(TypeError, match="numpy.asarray"):
            buffer.tensor("uint32")[:] = 1


def test_threads_share_a_context(gpu):
    failed = []

    def work(number):
        try:
            with gpu.vk.buffer(4097 * 4) as a, gpu.vk.buffer(4097 * 4) as b, draw.Compute(gpu, ADD) as add:
                source, result = np.asarray(a.tensor("uint32")), np.asarray(b.tensor("uint32"))
                source[:] = number
                for n in range(20):
                    add((65,), source=source, result=result, count=4097, more=n)
                    assert (result == number + n).all()
        except BaseException as e:  # noqa: BLE001: it is told
            failed.append(repr(e))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert failed == []


def test_wrong_shaders(gpu):
    with pytest.raises(ValueError, match="does not compile:\nERROR: .*undeclared"):
        draw.Compute(gpu, ADD.replace("push.more", "push_more"))
    with pytest.raises(ValueError, match="descriptor set other than 0"):
        draw.Compute(gpu, ADD.replace("binding = 3", "set = 1, binding = 3"))
    for broken in (b"", b"\x03\x02\x23\x07" * 6, compiled(ADD, "comp")[:-4] + b"\xff\xff\xff\xff"):
        with pytest.raises(ValueError, match="SPIR-V"):
            Module(broken)
    with pytest.raises(ValueError, match="topology is one of"):
        draw.Pipeline(gpu, DOTS, COLOR, topology="dots")


def test_buffers_come_and_go_while_another_thread_draws(gpu):
    """Whose buffer an array lies in is asked of all buffers of the context."""
    over, failed, before = threading.Event(), [], sys.getswitchinterval()

    def others():
        try:
            while not over.is_set():
                with gpu.vk.buffer(4097):
                    pass
        except BaseException as e:  # noqa: BLE001: it is told
            failed.append(repr(e))

    threads = [threading.Thread(target=others) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        with contextlib.ExitStack() as kept:
            buffers = [kept.enter_context(gpu.vk.buffer(4097 * 4)) for _ in range(5)]
            arrays = [np.asarray(buffer.tensor("uint32")) for buffer in buffers]
            for thread in threads:
                thread.start()
            try:
                for n in range(60000):
                    part = draw._Queue.of(gpu).part(arrays[n % 5])
                    assert (part.buffer, part.offset, part.size) == (buffers[n % 5].handle, 0, 4097 * 4)
            finally:
                over.set()
                for thread in threads:
                    thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert failed == []
