# SPDX-License-Identifier: MIT
"""What the samples share: their options, a context with a window or without, and shaders that are compiled ahead."""
import argparse
import contextlib
import hashlib
import importlib
import pathlib
import sys
from typing import Any, Callable, Iterator, Optional, Tuple, Union

from culvert import draw, vulkan
from culvert._window import Window

HERE = pathlib.Path(__file__).resolve().parent

# Before the PAINT of a sample, which writes the texels of `picture`.
HEAD = """#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) uniform writeonly image2D picture;
"""


def _ready(paint: str) -> pathlib.Path:
    return HERE / "shaders" / (hashlib.sha256((HEAD + paint).encode()).hexdigest()[:16] + ".spv")


def shader(paint: str) -> Union[str, bytes]:
    """What `common.py DIRECTORY` left in shaders/, or GLSL, for which culvert.draw needs glslangValidator."""
    return _ready(paint).read_bytes() if _ready(paint).exists() else HEAD + paint


def groups(size: int) -> Tuple[int, int]:
    """Groups of 8 x 8 threads that cover a picture."""
    return (size + 7) // 8, (size + 7) // 8


def write_png(path: str, rgba: bytes, width: int, height: int) -> None:
    pathlib.Path(path).write_bytes(draw.png(rgba, width, height))


@contextlib.contextmanager
def opened(options: argparse.Namespace, title: str) -> Iterator[Tuple[vulkan.Context, Callable[[draw.Target], bool]]]:
    """(a Vulkan context, a function that shows a picture and says whether to go on): with a window, or without."""
    if not options.window:
        with vulkan.open() as gpu:
            yield gpu, lambda picture: True
        return
    with Window(title, options.size, options.size) as window:
        def show(picture: draw.Target) -> bool:
            window.present(picture.image.handle, picture.acquire(), 10**9)
            return all(event[0] != "close" for event in window.own.poll())
        yield window.gpu, show


def arguments(text: Optional[str], out: str, frames: int, **more: Tuple[Any, str]) -> argparse.Namespace:
    """The options of a sample."""
    parser = argparse.ArgumentParser(description=(text or "").partition("\n")[0])
    parser.add_argument("--size", type=int, default=384, help="of the picture, in pixels")
    if frames:
        parser.add_argument("--frames", type=int, default=frames)
    parser.add_argument("--out", default=out, help="the last picture")
    parser.add_argument("--window", action="store_true", help="show it live (by SDL2 or GLFW)")
    for name, (default, said) in more.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=said)
    return parser.parse_args()


def array_library() -> Tuple[Any, Callable[[Any], Any]]:
    """CuPy where there is a GPU and CuPy, else NumPy: (library, a function that makes an array of a tensor)."""
    try:
        import cupy
        if cupy.cuda.runtime.getDeviceCount() > 0:
            return cupy, cupy.from_dlpack
    except Exception:  # noqa: BLE001: no CuPy, no driver, or no device
        pass
    import numpy
    return numpy, numpy.asarray


def compile_shaders(directory: pathlib.Path) -> None:
    """For machines that have no compiler."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in sorted(HERE.glob("*.py")):
        paint = getattr(importlib.import_module(path.stem), "PAINT", None) if path.stem != "common" else None
        if paint is not None:
            (directory / _ready(paint).name).write_bytes(draw.spirv(HEAD + paint, "comp"))


if __name__ == "__main__":
    compile_shaders(pathlib.Path(sys.argv[1]))
