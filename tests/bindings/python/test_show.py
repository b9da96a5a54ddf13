# SPDX-License-Identifier: MIT
"""culvert.show(): pictures compared texel by texel with what NumPy makes of the tensor; a real window under Xvfb."""
import ctypes.util
import gc
import os
import shutil
import subprocess
import sys
import textwrap
import weakref

import numpy as np
import pytest

import culvert
from culvert import show as _  # noqa: F401: the function
from culvert._spirv import hashed
from culvert._shaders import SPIRV

module = sys.modules["culvert.show"]


def colors(name):
    return np.array([[int(c[i:i + 2], 16) for i in (0, 2, 4)] for c in module.COLORMAPS[name]], "float64")


def mapped(values, low, high, name="viridis"):
    low, high = float(low), float(high)
    t = np.clip((values.astype("float64") - low) / (high - low), 0, 1) * 8
    i = np.minimum(t.astype(int), 7)
    table = colors(name)
    return table[i] + (table[i + 1] - table[i]) * (t - i)[..., None]


def picture(view):
    return np.asarray(view.target.tensor())[..., :3].astype(int)


def near(picture, want):
    return np.abs(picture - want).max() <= 1


def test_the_shaders_are_compiled():
    assert sorted(SPIRV) == sorted(hashed(s) for s, _ in module.SHADERS), "run scripts/python-shaders"


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "uint8", "int8", "uint16", "int16", "uint32", "int32",
                                   "uint64", "int64", "bool"])
def test_types(gpu, dtype):
    height, width = 127, 253
    rng = np.random.default_rng(3)
    low, high = (0, 2) if dtype == "bool" else (0, 200) if dtype.startswith("u") else (-100, 100)
    data = rng.integers(low, high, (height, width)).astype(dtype)
    with gpu.vk.buffer(data.nbytes + 8) as buffer:
        there = np.asarray(buffer.tensor(dtype, (height, width)))
        there[:] = data
        with culvert.show(there, gpu=gpu, size=(width, height)) as view:
            assert view.says == []
            assert view.range == (float(data.min()), float(data.max()))
            assert near(picture(view), mapped(data, data.min(), data.max()))
            assert view.value_at(252, 126) == (252, 126, (data[126, 252],))
            there[:] = data[::-1]
            assert view.update() and near(picture(view), mapped(data[::-1], data.min(), data.max()))


@pytest.mark.parametrize("shape, layout, axes", [((31, 45), "HW", None), ((31, 45, 3), "HWC", (0, 1, 2)),
                                                 ((31, 45, 4), None, (0, 1, 2)), ((3, 31, 45), None, (1, 2, 0)),
                                                 ((1, 1, 31, 45), None, None), ((2, 31, 45), "CHW", (1, 2, 0))])
def test_layouts_and_strides(gpu, shape, layout, axes):
    data = np.random.default_rng(1).random(shape).astype("float32")
    with gpu.vk.buffer(2 * data.nbytes) as buffer:
        wide = np.asarray(buffer.tensor("float32", (*shape[:-1], 2 * shape[-1])))
        there = wide[..., ::2]  # with holes
        there[:] = data
        with culvert.show(there, gpu=gpu, size=(45, 31), layout=layout, range=(0, 1)) as view:
            if axes is None:
                assert near(picture(view), mapped(data.reshape(31, 45), 0, 1))
            else:
                want = data.transpose(axes)
                got = picture(view)
                if want.shape[2] == 4:
                    want = 0.12 + (want[..., :3] - 0.12) * want[..., 3:]
                assert near(got[..., :min(want.shape[2], 3)], want[..., :3] * 255)


def test_a_volume_by_slices(gpu):
    data = np.arange(7 * 31 * 45, dtype="int32").reshape(7, 31, 45)
    with gpu.vk.buffer(data.nbytes) as buffer:
        there = np.asarray(buffer.tensor("int32", data.shape))
        there[:] = data
        with culvert.show(there, gpu=gpu, size=(45, 31)) as view:
            assert view.slice == 3 and near(picture(view), mapped(data[3], data[3].min(), data[3].max()))
            view.event("key", "+")
            view.update()
            assert near(picture(view), mapped(data[4], data[4].min(), data[4].max()))
            assert view.value_at(1, 2) == (1, 2, (float(data[4, 2, 1]),))


def test_more_rows_than_a_dispatch_has(gpu):
    with culvert.show(np.arange(70000, dtype="f4").reshape(-1, 1), gpu=gpu, layout="HW") as view:
        assert view.range == (0.0, 69999.0)


def test_zoom_and_pan(gpu):
    data = np.arange(16, dtype="float32").reshape(4, 4)
    with gpu.vk.buffer(64) as buffer:
        there = np.asarray(buffer.tensor("float32", (4, 4)))
        there[:] = data
        with culvert.show(there, gpu=gpu, size=(64, 64)) as view:
            assert near(picture(view), mapped(data, 0, 15).repeat(16, 0).repeat(16, 1))
            view.event("drag", 16, -32)
            view.update()
            assert near(picture(view)[:32, 16:], mapped(data, 0, 15).repeat(16, 0).repeat(16, 1)[32:, :48])
            assert view.value_at(0, 0) is None and view.value_at(16, 0) == (0, 2, (8.0,))
            view.event("key", "r")
            view.event("scroll", 5)
            view.update()
            assert view.value_at(32, 32) == (2, 2, (10.0,)) and view.zoom > 2
            view.event("close")
            assert view.closed and not view.update()


@pytest.mark.parametrize("dimensions, of_colors", [(2, "uint8"), (3, "float64")])
def test_points(gpu, dimensions, of_colors):
    rng = np.random.default_rng(2)
    data = rng.random((4097, dimensions))
    data[0], data[1] = 0, 1  # the bounds
    tints = np.zeros((4097, 3), of_colors)
    tints[:] = (255, 0, 128) if of_colors == "uint8" else (1, 0, 128 / 255)
    with gpu.vk.buffer(data.nbytes) as buffer, gpu.vk.buffer(tints.nbytes) as more:
        there, paint = np.asarray(buffer.tensor("float64", data.shape)), np.asarray(more.tensor(of_colors, tints.shape))
        there[:], paint[:] = data, tints
        with culvert.show(there, gpu=gpu, size=(201, 201), colors=paint, point_size=1) as view:
            assert any("is made float32" in said for said in view.says) == (of_colors == "float64")
            view.turn = [0.0, 0.0]
            view.update()
            got = picture(view)
            drawn = (got == (255, 0, 128)).all(2)
            x = (data[:, 0] - 0.5) * 1.8 * 201 / 2 + 100.5
            y = 100.5 - (data[:, 1] - 0.5) * 1.8 * 201 / 2
            assert drawn.sum() > 3000
            for px, py in zip(x[:200].astype(int), y[:200].astype(int)):
                assert drawn[max(py - 1, 0):py + 2, max(px - 1, 0):px + 2].any(), (px, py)


def test_what_is_not_shared_is_copied_and_told(tmp_path):
    data = np.random.default_rng(1).random((31, 45)).astype("float32")
    with pytest.raises(ValueError, match="view.jpg: Culvert writes PNG"):
        culvert.show(data, window=False, out=tmp_path / "view.jpg")
    with culvert.show(data, window=False, size=(45, 31), out=tmp_path / "view.png") as view:
        assert view.says == ["the tensor is copied for each frame: it lies in the host's own memory, which Vulkan does not have"]
        first = (tmp_path / "view.png").read_bytes()
        assert near(picture(view), mapped(data, data.min(), data.max()))
        data[:] = 1 - data
        view.update()
        assert near(picture(view), mapped(data, data.min(), data.max()))
        assert view._repr_png_().startswith(b"\x89PNG") and "the tensor is copied" in repr(view)
    there = weakref.ref(data)
    del data
    gc.collect()
    assert there() is None  # a view that is closed keeps no memory
    last = (tmp_path / "view.png").read_bytes()
    assert first.startswith(b"\x89PNG") and last.startswith(b"\x89PNG") and first != last
    for late in (view.png, lambda: view.save(tmp_path / "late.png")):
        with pytest.raises(ValueError, match="this View is closed: save"):
            late()


def test_memory_of_another_context_is_copied(gpu):
    """Its VkBuffer means nothing to the view's own VkDevice."""
    with gpu.vk.buffer(31 * 45 * 4) as buffer:
        tensor = buffer.tensor("float32", (31, 45))
        data = np.asarray(tensor)
        data[:] = np.random.default_rng(1).random((31, 45))
        for there in (tensor, data):
            with culvert.show(there, window=False, size=(45, 31)) as view:
                assert [said.partition(":")[0] for said in view.says] == ["the tensor is copied for each frame"]
                assert near(picture(view), mapped(data, data.min(), data.max()))
        with culvert.vulkan.open() as other, culvert.draw.Target(other, 4, 4) as target, \
                culvert.draw.Pipeline(other, *(text for text, _ in module.SHADERS[2:4])) as points:
            with pytest.raises(ValueError, match="it is memory of another VkDevice"):
                target.draw(points, 1, **dict.fromkeys(points.bindings, buffer))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_tensor_of_many_chunks(gpu, monkeypatch, sparse):
    """By one sparse buffer, where the device has such (the twin's has none); else by copies, and the view says so."""
    if sparse:  # the parts stand for a sparse buffer's: one that begins where the first does
        whole = gpu.vk.buffer(3 << 21)
        asked = []

        def adopt(pointer, size, sparse_queue=None):
            asked.append((pointer, size, sparse_queue))
            one = culvert.declarations.culv_part(buffer=whole.handle, inner_offset=1 << 19, size=size)
            return type("Adopted", (), {"buffers": lambda _: [one], "size": size, "is_current": True, "close": lambda _: None})()

        monkeypatch.setattr(gpu.vk, "adopt", adopt)
        gpu.sparse_queue = gpu.queue
    with gpu.device.vector(4 << 21, max_chunk=1 << 21, exportable=True) as memory:
        everything = np.asarray(memory.tensor("float32"))
        data = everything[1 << 17:(1 << 17) + 1024 * 1024].reshape(1024, 1024)  # 4 MiB of 8, from the middle of a chunk
        data[:] = np.linspace(0, 1, data.size).reshape(data.shape)
        if sparse:
            np.asarray(whole.tensor("float32"))[1 << 17:(1 << 17) + data.size] = data.ravel()
        with culvert.show(data, gpu=gpu, size=(512, 512), range=(0, 1)) as view:
            assert near(picture(view), mapped(data[::2, ::2], 0, 1)) or np.abs(picture(view) - mapped(data[::2, ::2], 0, 1)).max() <= 2
            if sparse:
                assert view.says == [] and asked == [(data.ctypes.data, data.nbytes, gpu.queue)]
            else:
                assert view.says == ["the tensor is copied for each frame: the tensor lies in 3 chunks of memory, and the device has "
                                     "no sparse buffer for all of them: larger chunks, or a buffer or vector of Culvert's, are in one "
                                     "piece"]
                data[:] = 1 - data
                view.update()
                assert np.abs(picture(view) - mapped(data[::2, ::2], 0, 1)).max() <= 2
        del everything, data


@pytest.mark.parametrize("tensor, more, text", [
    (np.zeros((3, 0)), {}, "no elements"), (np.zeros((3, 3), "complex64"), {}, "no elements of type <c8"),
    (np.zeros((2, 2, 2, 2)), {}, "layouts are HW"), (np.zeros((5, 4)), {"layout": "points"}, "points are N x 2 or N x 3"),
    (np.zeros((5, 5, 5)), {"layout": "HWC"}, "5 channels"), (np.zeros((5, 5)), {"colormap": "jet"}, "colormap is one of"),
    (np.zeros((5, 2)), {"colors": np.zeros((4, 3), "uint8")}, "colors of shape"), ([1, 2], {}, "is no tensor"),
    (np.zeros((5, 5)), {"range": 5}, r"range=5: pass .* such as range=\(0, 1\)"), (np.array([[None]]), {}, "type '|O' are no numbers")])
def test_wrong_tensors(tensor, more, text):
    with pytest.raises((ValueError, TypeError), match=text):
        culvert.show(tensor, window=False, **more)


@pytest.mark.parametrize("library", ["glfw", "sdl2"])
def test_a_window(tmp_path, library):
    if shutil.which("Xvfb") is None or shutil.which("xwd") is None:
        pytest.skip("Xvfb or xwd is not installed")
    if library == "sdl2" and ctypes.util.find_library("SDL2-2.0") is None:
        pytest.skip("SDL2 is not installed")
    log = tmp_path / "display"
    with open(log, "wb") as out:
        server = subprocess.Popen(["Xvfb", "-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"], stdout=out,
                                  stderr=subprocess.DEVNULL)
    program = f"""
        import culvert, numpy as np, subprocess, sys
        from culvert import _window
        if {library!r} == "sdl2":
            _window._Glfw = _window._Sdl
        data = np.zeros((100, 200, 3), "float32")
        data[:, :100], data[:, 100:] = (1, 0, 0), (0, 0, 1)
        view = culvert.show(data, window=True, size=(200, 100), title="culvert test")
        for n in range(1000):
            assert view.update()
            shot = subprocess.run(["xwd", "-silent", "-root"], capture_output=True)
            if shot.returncode == 0:
                head = np.frombuffer(shot.stdout[:100], ">u4")
                at, width, height, size, line = int(head[0]) + 12 * int(head[19]), *(int(head[i]) for i in (4, 5, 11, 12))
                rows = np.frombuffer(shot.stdout[at:], "uint8")[:line * height].reshape(height, line)
                texels = rows[:, :width * size // 8].reshape(height, width, size // 8)
                if all((texels[..., :3] == color).all(2).sum() == 10000 for color in ((0, 0, 255), (255, 0, 0))):
                    print("shown")
                    break
        if {library!r} == "glfw":
            view.event("close")
            assert not view.update()
    """
    try:
        for _ in range(600):
            if log.read_text().endswith("\n"):
                break
            try:
                server.wait(0.1)
            except subprocess.TimeoutExpired:
                pass
        ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=100,
                               env=dict(os.environ, DISPLAY=":" + log.read_text().strip(), XDG_RUNTIME_DIR=str(tmp_path)))
        assert (ended.stdout, ended.returncode, ended.stderr) == ("shown\n", 0, "")
    finally:
        server.kill()
        server.wait()
