# SPDX-License-Identifier: MIT
"""culvert.gl on the twin and Mesa's llvmpipe: bytes of both sides are compared, by each way."""
import copy
import gc
import pathlib
import pickle
import re
import threading

import numpy as np
import pytest
import libraries
from gl_headless import Headless
from vulkan_work import hears_ctrl_c, script

import culvert
from culvert import gl as cgl

WAYS = ("memory", "register", "staged")
RGBA, BYTE = 0x1908, 0x1401
ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def screen():
    try:
        made = Headless()
    except RuntimeError as e:
        pytest.skip(str(e))
    yield made
    made.close()


@pytest.fixture
def gl(screen):
    """An attachment. Nothing may be left when the test has closed what it made."""
    with culvert.Device() as device:
        with cgl.attach(device) as attached:
            yield attached
            gc.collect()
        gc.collect()
        assert not cgl._exported, "tensors of registered memory are left"
        for name, left in device.counts().items():
            assert left == 0, f"{left} {name} are left"


def noise(shape, dtype="uint8", seed=1):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(np.random.RandomState(seed).bytes(size), dtype).reshape(shape)


def on_another_thread(call):
    said = []

    def run():
        try:
            said.append(call())
        except BaseException as e:  # noqa: BLE001: it is looked at
            said.append(e)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return said[0]


@pytest.mark.parametrize("name", ["opengl_reads_a_buffer", "opengl_writes_a_buffer", "opengl_has_textures_of_tensors", "a_ring_of_opengl",
                                  "opengls_own_buffers"])
def test_bytes_by_each_way(name, capsys):
    """The cases that a GPU's libraries have, too. Here each way works."""
    try:
        libraries.CASES[name].run(libraries.Library("numpy"))
    except libraries.Skip as e:
        pytest.skip(str(e))
    assert "refused" not in capsys.readouterr().out


# Bytes ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", WAYS)
def test_tensors_of_others_are_copied(screen, gl, way):
    """By __cuda_array_interface__ or __array_interface__, by DLPack only, and Culvert's own."""
    class OnlyDLPack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, stream=None):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    data = noise((241, 17), "float32").copy()
    with culvert.vulkan.open() as other, other.vk.buffer(data.nbytes) as source:
        np.asarray(source.tensor("float32", data.shape))[:] = data
        for tensor in (data, OnlyDLPack(data), source.tensor("float32", data.shape), source):
            with gl.buffer(tensor, way=way) as buffer:
                assert screen.read_buffer(buffer.name, data.nbytes) == data.tobytes()
                if tensor is not source:
                    assert buffer.shape == (241, 17)
                    with buffer.cuda() as turn:
                        there = turn.tensor()
                        assert there.shape == (241, 17) and there.typestr == "<f4"
                        del there
        for wrong in (data.T, data[:, ::2], OnlyDLPack(data.T)):
            with pytest.raises(ValueError, match="contiguous"):
                gl.buffer(wrong, way=way)


CHUNK = 1 << 21


def test_a_tensors_own_memory(screen, gl):
    """Nothing is copied: what either side writes, the other one has. The vector's memory stands for a library's."""
    with gl.device.vector(CHUNK, exportable=True) as memory:
        everything = np.asarray(memory.tensor("float32"))
        tensor = everything[1000:1000 + 4097 * 2].reshape(4097, 2)
        with gl.share(tensor) as shared:
            assert (shared.way, shared.nbytes, shared.offset, len(shared.parts)) == ("memory", tensor.nbytes, 4000, 1)
            for i in range(4):
                values = noise((4097, 2), "int8", i).astype("float32")
                with shared.cuda() as there:
                    assert there is tensor
                    tensor[:] = values
                assert screen.read_buffer(shared.name, 4000 + tensor.nbytes)[4000:] == values.tobytes(), i
                screen.glNamedBufferSubData(shared.name, 4000 + 8, 4, np.float32(-i).tobytes())
                with shared.cuda():
                    assert tensor[1, 0] == -i and tensor[1, 1] == values[1, 1]
            with pytest.raises(KeyError), shared.cuda():
                raise KeyError
            assert repr(shared) == f"<culvert.gl.SharedTensor open, {tensor.nbytes} bytes, in 1 GL buffers>"
        for use in (lambda: shared.name, lambda: shared.cuda().__enter__()):
            with pytest.raises(ValueError, match="is closed"):
                use()
        with gl.share(memory.tensor("uint8", (4097,), offset=64)) as other:
            assert other.offset == 64
        del everything, tensor, shared, there, other
        gc.collect()


def test_a_tensor_of_many_chunks(screen, gl):
    with gl.device.vector(3 * CHUNK, max_chunk=CHUNK, exportable=True) as memory:
        everything = np.asarray(memory.tensor("uint8"))
        tensor = everything[CHUNK - 100:2 * CHUNK + 100]
        everything[:] = noise(3 * CHUNK)
        with gl.share(tensor) as shared:
            assert [(p.offset, p.size, p.tensor_offset) for p in shared.parts] == [(CHUNK - 100, 100, 0), (0, CHUNK, 100),
                                                                                   (0, 100, 100 + CHUNK)]
            with shared.cuda():
                tensor[:] = noise(tensor.size, seed=9)
            for p in shared.parts:
                assert screen.read_buffer(p.name, p.offset + p.size)[p.offset:] == \
                    tensor[p.tensor_offset:p.tensor_offset + p.size].tobytes()
            with pytest.raises(ValueError, match="3 chunks of memory"):
                shared.name
        del everything, tensor, shared
        gc.collect()


def test_what_cannot_be_shared_says_why(screen, gl):
    with pytest.raises(culvert.InvalidError, match="nothing of this device is mapped"):
        gl.share(np.zeros(4097, "float32"))
    with gl.buffer(np.zeros(4097, "float32")) as copied:
        assert len(copied.says) == 1 and copied.says[0].startswith("the buffer has a copy of the tensor's bytes: ")
    with gl.device.vector(CHUNK, exportable=True) as memory:
        with gl.buffer(memory.tensor("uint8", (4097,))) as copied:
            assert copied.says == ["the buffer has a copy of the tensor's bytes; share(tensor) makes a GL buffer of the tensor's "
                                   "own memory"]
    with gl.buffer(4097) as made:
        assert made.says == []


def test_shared_tensors_that_are_dropped(screen, gl):
    with gl.device.vector(CHUNK, exportable=True) as memory:
        kept = [gl.share(memory.tensor("uint8", (4097,)))]
        names = [kept[0].name]
        on_another_thread(lambda: kept.clear() or gc.collect())
        assert len(gl._shared_later) == 1
        again = gl.share(memory.tensor("uint8", (4097,)))
        assert not gl._shared_later and names
        del again
        gc.collect()
    assert screen.glGetError() == 0


@pytest.mark.parametrize("way", WAYS)
def test_a_ring_of_50_frames(screen, gl, way):
    with gl.ring([cgl.ring_buffer(4097), cgl.ring_texture(0x8058, 253, 127)], 3, way=way) as ring:
        assert ring.way == way and len(set(ring.names(0))) == 3
        frames, seen = ring.frames(), []
        for i in range(50):
            words, texels = noise(4097, seed=i), noise((127, 253, 4), seed=1000 + i)
            with ring.cuda() as turn:
                assert turn.number == i + 1 or turn.number == i
                np.asarray(turn.tensor())[:] = words
                turn.write(texels, 1)
            frame = next(frames)
            seen.append(frame.number)
            assert screen.read_buffer(frame.name, 4097) == words.tobytes(), i
            assert screen.read_texture(frame.name_of(1), texels.nbytes, RGBA, BYTE) == texels.tobytes(), i
        assert [n - seen[0] for n in seen] == list(range(50))
        frames.close()
        ring.drain()
        ring.stop()
        assert list(ring.frames()) == []


@pytest.mark.parametrize("by_dlpack", [False, True])
def test_a_copy_waits_for_who_writes_the_tensor(screen, by_dlpack):
    """The producer's stream has not got there when the copy is asked for on another stream."""
    with culvert.vulkan.open() as gpu, cgl.attach(gpu.device) as gl, gpu.vk.buffer(4097) as source:
        timeline, producer, mine, other = gpu.vk.timeline(), *[gpu.device.stream() for _ in range(3)]
        asked = []

        class Late:
            """A tensor of a library for GPUs; the twin's memory has an address that both sides know."""
            if by_dlpack:
                def __dlpack__(self, stream=None):
                    asked.append(stream)
                    if stream != -1:
                        culvert.api.culv_dlpack_hand_over(gpu.device, producer, stream)
                    return source.tensor().__dlpack__(stream=-1)

                def __dlpack_device__(self):
                    return 2, 0
            else:
                @property
                def __cuda_array_interface__(self):
                    return {"shape": (4097,), "typestr": "|u1", "data": (source.pointer, False), "version": 3,
                            "stream": producer.pointer}

        np.asarray(source.tensor())[:] = 1
        with gl.buffer(4097) as buffer:
            timeline.wait(producer, 1)
            gpu.device.make_current()
            gpu.device.cuda.cuMemsetD8Async(source.pointer, 2, 4097, producer.pointer)
            later = threading.Timer(0.2, lambda: timeline.signal(other, 1))
            later.start()
            buffer.update(Late(), mine)
            later.join()
            assert screen.read_buffer(buffer.name, 4097) == b"\x02" * 4097
        assert (mine.pointer in asked) == by_dlpack


def test_a_ring_gives_back_what_failed(screen, gl):
    with gl.ring([cgl.ring_buffer(4097)], 2) as ring:
        with pytest.raises(KeyError), ring.cuda():
            raise KeyError
        with ring.cuda() as turn:
            np.asarray(turn.tensor())[:] = 7
        with pytest.raises(KeyError), ring.frame():
            raise KeyError
        with ring.frame() as frame:
            assert screen.read_buffer(frame.name, 4097) == b"\x07" * 4097
        with pytest.raises(culvert.LateError):
            with ring.frame(timeout=10**6):
                pass
        ring.drain()


def test_a_ring_of_the_programs_own_buffers(screen, gl):
    names = [screen.buffer(4097) for _ in range(2)]
    mine = [gl.register_buffer(n) for n in names]
    with gl.ring([cgl.ring_registrations(mine)], 2) as ring:
        assert ring.way == "register" and ring.names() == names
        for i in range(6):
            with ring.cuda() as turn:
                np.asarray(turn.tensor())[:] = i
            with ring.frame() as frame:
                assert screen.read_buffer(frame.name, 4097) == bytes([i]) * 4097
    for one in mine:
        one.close()


def test_registered_objects(screen, gl):
    """CUDA reads what OpenGL has, and writes it; many objects go in one call."""
    first, second = noise(4097 * 4, seed=1), noise((127, 253, 4), seed=2)
    name, other = screen.buffer(4097 * 4, first.tobytes()), screen.texture(0x8058, 253, 127)
    with gl.register_buffer(name, "float32", (241, 17)) as buffer, gl.register_texture(other) as texture:
        with cgl.mapped([buffer, texture]) as (b, t):
            assert buffer.mapped and texture.mapped and t.array()
            array = np.asarray(b.tensor())
            assert array.shape == (241, 17) and array.tobytes() == first.tobytes()
            assert np.from_dlpack(b.tensor("uint8", (4,), offset=5)).tobytes() == first.tobytes()[5:9]
            array[:] = 3
            t.write(second)
            with pytest.raises(ValueError, match="the buffer has 16388"):
                b.tensor("float32", (4098,))
            with pytest.raises(IndexError):
                b.array()
            with pytest.raises(IndexError):
                t.tensor()
            del array
        assert not buffer.mapped
        assert screen.read_buffer(name, 4097 * 4) == np.full(4097, 3, "float32").tobytes()
        assert screen.read_texture(other, second.nbytes, RGBA, BYTE) == second.tobytes()
        with pytest.raises(KeyError), buffer.cuda() as turn:
            raise KeyError
        assert not buffer.mapped and turn._over
        texture.update(noise((127, 253, 4), seed=3))
        assert screen.read_texture(other, second.nbytes, RGBA, BYTE) == noise((127, 253, 4), seed=3).tobytes()


# Errors --------------------------------------------------------------------------------------------------------------

def test_without_a_context(screen, gl):
    screen.release()
    try:
        with pytest.raises(culvert.InvalidError, match="current") as e:
            cgl.attach()
        assert e.value.reason == "CONTEXT"
        assert "current" in str(cgl.check()) and cgl.check().way == "none"
        with pytest.raises(RuntimeError, match="no context .* is current on this thread"):
            cgl.function("glFinish")
    finally:
        screen.make_current()
    assert cgl.check().way == "memory" and gl.is_current
    with pytest.raises(AttributeError):
        cgl.check().nothing


def test_on_the_wrong_thread(screen, gl):
    buffer, registered = gl.buffer(4097), gl.register_buffer(screen.buffer(16))
    assert on_another_thread(lambda: gl.is_current) is False
    for call in (lambda: gl.buffer(16), lambda: gl.register_buffer(1), buffer.close, registered.close, gl.close,
                 lambda: registered.update(noise(16))):
        said = on_another_thread(call)
        assert isinstance(said, culvert.InvalidError) and said.reason == "CONTEXT", said
        assert "thread" in str(said)
    assert not buffer.closed and not registered.closed and not gl.closed
    buffer.update(noise(4097))
    assert screen.read_buffer(buffer.name, 4097) == noise(4097).tobytes()


@pytest.mark.parametrize("later", [lambda gl: gl.buffer(16).close(), lambda gl: gl.close()])
def test_what_another_thread_drops_goes_here(gl, later):
    kept = [gl.buffer(4097)]
    on_another_thread(lambda: (kept.clear(), gc.collect()))
    assert len(gl._later) == 1
    later(gl)
    assert not gl._later


def test_a_stream_that_is_late(screen):
    """NumPy works when the stream has got there. Afterwards all goes on."""
    with culvert.vulkan.open() as gpu, cgl.attach(gpu.device) as gl:
        timeline, value, other, stream = gpu.vk.timeline(), 0, gpu.device.stream(), gpu.device.stream()
        ring, buffer = gl.ring([cgl.ring_buffer(4097)]), gl.buffer(4097)
        for late in (ring, buffer):
            value += 1
            timeline.wait(stream, value)
            with pytest.raises(culvert.LateError):
                with late.cuda(stream, timeout=50 * 10**6):
                    late = None  # the host went on before the stream
            assert late is not None
            timeline.signal(other, value)
            stream.synchronize()
            with late.cuda(stream) as turn:
                np.asarray(turn.tensor())[:] = value
        with ring.frame() as frame:
            assert [screen.read_buffer(n, 4097)[0] for n in (frame.name, buffer.name)] == [1, 2]
        ring.drain()


def test_a_second_context_on_another_thread(screen, gl):
    screen.release()
    other = []

    def work():
        other.append(Headless(screen))
        with gl.buffer(4097) as buffer:
            buffer.update(noise(4097))
            return other[0].read_buffer(buffer.name, 4097)

    screen.make_current()
    assert on_another_thread(lambda: work()) == noise(4097).tobytes()
    on_another_thread(lambda: other[0].close())


def test_a_deleted_buffer(screen, gl):
    name = screen.buffer(4097)
    registered = gl.register_buffer(name)
    screen.delete_buffer(name)
    with pytest.raises(culvert.InvalidError, match="deleted|no buffer|registered") as e:
        registered.update(noise(4097))
    assert e.value.reason == "VALUE"
    with pytest.raises(culvert.InvalidError, match=str(name)) as e:
        gl.register_buffer(name)
    assert e.value.reason == "VALUE"


def test_after_close(gl):
    buffer = gl.buffer(4097)
    with buffer.cuda() as turn:
        slot = turn.buffer()
    for call in (turn.tensor, turn.array, turn.buffer, slot.tensor, lambda: turn.pointer, lambda: turn.write(noise(1))):
        with pytest.raises(ValueError, match="turn of CUDA's is over"):
            call()
    for call in (buffer.frame, buffer.frames):
        with pytest.raises(TypeError, match="outside the blocks"):
            call()
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="one object of this process"):
            call(buffer)
        with pytest.raises(TypeError, match="one object of this process"):
            call(gl)
    buffer.close()
    buffer.close()
    assert "closed" in repr(buffer)
    for call in (lambda: buffer.name, lambda: buffer.way, lambda: buffer.update(noise(1))):
        with pytest.raises(ValueError, match="this GLBuffer is closed"):
            call()
    gl.close()
    with pytest.raises(ValueError, match="this Attachment is closed"):
        gl.buffer(16)


def test_wrong_arguments(screen, gl):
    for call, words in ((lambda: gl.buffer(16, way="fast"), "no way 'fast'"), (lambda: gl.buffer(16, writer="me"), "writer='me'"),
                        (lambda: gl.texture(noise((4, 4, 3))), "three channels become four"),
                        (lambda: gl.register_buffer(1, access="write"), "write_discard")):
        with pytest.raises(ValueError, match=words):
            call()
    with gl.buffer(16) as buffer, gl.texture(noise((4, 5, 4))) as texture:
        with pytest.raises(ValueError, match="17 bytes and the buffer 16"):
            buffer.update(noise(17))
        with pytest.raises(ValueError, match="4 rows of 5"):
            texture.update(noise((5, 4, 4)))
    with pytest.raises(culvert.InvalidError):
        gl.buffer(0)


def test_lost_contexts(screen):
    """What is left closes without a context."""
    gl = cgl.attach()
    buffer = gl.buffer(4097)
    screen.close()
    with pytest.raises(culvert.InvalidError, match="current") as e:
        gl.close()
    assert e.value.reason == "CONTEXT" and not buffer.closed
    gl.lose_contexts()
    on_another_thread(gl.close)
    assert gl.closed and buffer.closed and gl.device.closed


# Programs of their own -----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way, reason, other, lacks", [
    ("register", "EXTENSION_MISSING", "NONE", "-GL_EXT_memory_object_fd"),
    # Without GL_EXT_memory_object OpenGL does not tell which GPU it draws on.
    ("staged", "DEVICE_MISMATCH", "DEVICE_MISMATCH", "-GL_EXT_memory_object -GL_EXT_memory_object_fd")])
def test_why_not_the_best_way(screen, way, reason, other, lacks):
    """Another way is taken, and it is said why. Copies need copies=True."""
    said = script(f"""
        import numpy as np, culvert, warnings
        from gl_headless import Headless
        screen = Headless()
        gl = culvert.gl.attach(copies=True)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for i in range(3):
                with gl.buffer(np.arange(253, dtype="uint8")) as buffer:
                    assert buffer.way == "{way}", buffer
                    assert screen.read_buffer(buffer.name, 253) == bytes(range(253))
                texels = np.random.RandomState(i).randint(0, 256, (127, 253, 4), dtype="uint8")
                with gl.texture(texels) as texture:
                    assert texture.way == "{way}", texture
                    assert screen.read_texture(texture.name, texels.nbytes, 0x1908, 0x1401) == texels.tobytes()
        assert [t.category for t in told] == 6 * [culvert.gl.WayWarning], told
        text = str(told[0].message)
        assert text.startswith("by {way.upper()}, because\\nMEMORY: ") and gl.report.text in text, text
        assert told[0].filename == "<string>", told[0].filename
        assert (gl.report.memory_reason, gl.report.register_reason) == ("{reason}", "{other}")
        gl.close()
        try:
            gl = culvert.gl.attach()
            assert "{way}" != "staged"
            gl.buffer(16, way="memory")
        except culvert.UnsupportedError as e:
            assert e.reason == "EXTENSION_MISSING", e
        else:
            raise AssertionError
        print("done")
    """, MESA_EXTENSION_OVERRIDE=lacks)
    assert (said.stdout, said.stderr, said.returncode) == ("done\n", "", 0)


@pytest.mark.parametrize("last", ["", "screen.release()", "screen.close()", "del gl, buffer; import gc; gc.collect()",
                                  "screen.close(); del gl, buffer; import gc; gc.collect()"])
def test_a_program_that_closes_nothing(screen, last):
    said = script(f"""
        import culvert
        from gl_headless import Headless
        screen = Headless()
        gl = culvert.gl.attach()
        buffer = gl.buffer(4097)
        {last}
        print("done")
    """)
    assert (said.stdout, said.returncode) == ("done\n", 0)
    assert "Traceback" not in said.stderr, said.stderr


@pytest.mark.parametrize("wait", ["ring.frame(3600 * 10**9).__enter__()", "next(ring.frames(3600 * 10**9))",
                                  "full.cuda(timeout=3600 * 10**9).__enter__()"])
def test_ctrl_c_is_heard(screen, wait):
    hears_ctrl_c("""
        from gl_headless import Headless
        screen = Headless()
        gl = culvert.gl.attach()
        ring, full = gl.ring([culvert.gl.ring_buffer(4097)]), gl.ring([culvert.gl.ring_buffer(16)], 1)
        with full.cuda():
            pass
    """, wait)


def test_every_block_of_the_page(screen):
    """The page's program, block by block, in one namespace."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python-gl.md").read_text(), re.S)
    assert len(blocks) >= 5
    names = {"screen": screen}
    for block in blocks:
        exec(compile(block, "docs/python-gl.md", "exec"), names)  # noqa: S102
    names["gl"].close()
