# SPDX-License-Identifier: MIT
"""A tensor on the screen in one line: `view = culvert.show(tensor)`, and `view.update()` in a loop."""
import contextlib
import ctypes
import functools
import math
import struct
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, TypeVar, cast

from ._lib import Closing, Error, stream_handle, told
from ._objects import VulkanBuffer
from ._tensor import HOSTS, Seen, look
from ._window import NoWindow, Window
from ._types import Path, StreamLike, TensorLike
from .draw import Compute, Part, Pipeline, Target, _is_unknown, _Queue, check_png
from .vulkan import Context

_KINDS = ["f4", "f2", "V2", "f8", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]  # V2: bfloat16; their places are the shaders'
_FORMATS = {"f4": "f", "f2": "e", "f8": "d", "u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q",
            "i8": "q"}
# Nine colours each, from low to high.
COLORMAPS = {
    "gray": ["000000", "202020", "404040", "606060", "808080", "9f9f9f", "bfbfbf", "dfdfdf", "ffffff"],
    "viridis": ["440154", "472c7a", "3b518b", "2c718e", "21908d", "27ad81", "5cc863", "aadc32", "fde725"],
    "magma": ["000004", "1c1044", "4f127b", "812581", "b5367a", "e55064", "fb8761", "fec287", "fcfdbf"],
    "coolwarm": ["3b4cc0", "688aef", "99baff", "c9d8f0", "edd1c2", "f7a789", "e36a53", "c8402f", "b40426"]}

# Elements of any type, by their address in bytes.
_ELEMENTS = """
float element(uint byte) {
    uint w = words[byte >> 2], low = w >> ((byte & 3u) * 8u);
    switch (push.kind) {
    case 0: return uintBitsToFloat(w);
    case 1: return unpackHalf2x16(low & 0xffffu).x;
    case 2: return uintBitsToFloat(low << 16);
    case 3: {
        uint high = words[(byte >> 2) + 1];
        int exponent = int(high >> 20 & 0x7ffu);
        float sign = (high & 0x80000000u) != 0 ? -1.0 : 1.0;
        if (exponent == 0) return 0.0;
        if (exponent == 0x7ff) return (high & 0xfffffu | w) != 0 ? uintBitsToFloat(0x7fc00000u) : sign * uintBitsToFloat(0x7f800000u);
        return sign * ldexp(1.0 + float((high & 0xfffffu) << 3 | w >> 29) / 8388608.0, exponent - 1023);
    }
    case 4: return float(low & 0xffu);
    case 5: return float(int(low << 24) >> 24);
    case 6: return float(low & 0xffffu);
    case 7: return float(int(low << 16) >> 16);
    case 8: return float(w);
    case 9: return float(int(w));
    case 10: return float(w) + float(words[(byte >> 2) + 1]) * 4294967296.0;
    default: {
        int high = int(words[(byte >> 2) + 1]);
        return high == int(w) >> 31 ? float(int(w)) : float(w) + float(high) * 4294967296.0;
    }
    }
}
"""
_RANGES = """
layout(binding = 1, std430) buffer Ranges { uint ranges[]; };
uint ordered(float f) { uint u = floatBitsToUint(f); return (u & 0x80000000u) != 0 ? ~u : u | 0x80000000u; }
float back(uint u) { return uintBitsToFloat((u & 0x80000000u) != 0 ? u & 0x7fffffffu : ~u); }
"""
_RANGE = """#version 450
layout(local_size_x = 256) in;
layout(binding = 0, std430) readonly buffer Words { uint words[]; };
layout(push_constant) uniform Push { int kind; uint first, columns, rows, part; int column_stride, row_stride; } push;
""" + _RANGES + _ELEMENTS + """
void main() {
    uint least = 0xffffffffu, most = 0u;
    for (uint row = gl_WorkGroupID.x; row < push.rows; row += gl_NumWorkGroups.x)
    for (uint x = gl_LocalInvocationID.x; x < push.columns; x += 256u) {
        float v = element(push.first + uint(int(x) * push.column_stride + int(row) * push.row_stride));
        if (isnan(v) || isinf(v)) continue;
        least = min(least, ordered(v));
        most = max(most, ordered(v));
    }
    if (least <= most) {
        atomicMin(ranges[push.part * 2u], least);
        atomicMax(ranges[push.part * 2u + 1u], most);
    }
}
"""
_MAP = """
layout(binding = 2, std430) readonly buffer Colors { uint colors[]; };
vec3 mapped(float t) {
    float at = clamp(t, 0.0, 1.0) * 8.0;
    uint i = min(uint(at), 7u);
    return mix(unpackUnorm4x8(colors[i]).rgb, unpackUnorm4x8(colors[i + 1u]).rgb, at - float(i));
}
"""
_IMAGE = """#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, std430) readonly buffer Words { uint words[]; };
layout(binding = 3, rgba8) uniform writeonly image2D picture;
layout(push_constant) uniform Push {
    vec2 corner; float texel, low, high; int kind; uint first, columns, rows, channels;
    int column_stride, row_stride, channel_stride;
} push;
""" + _RANGES + _MAP + _ELEMENTS + """
void main() {
    ivec2 p = ivec2(gl_GlobalInvocationID.xy), size = imageSize(picture);
    if (any(greaterThanEqual(p, size))) return;
    vec2 at = floor(push.corner + (vec2(p) + 0.5) * push.texel);
    vec4 color = vec4(vec3(((p.x ^ p.y) & 8) != 0 ? 0.11 : 0.13), 1);
    if (at.x >= 0 && at.y >= 0 && at.x < push.columns && at.y < push.rows) {
        float low = push.low, high = push.high;
        if (low >= high) { low = back(ranges[0]); high = back(ranges[1]); }
        float scale = high > low ? 1.0 / (high - low) : 0.0, v[4];
        for (uint c = 0u; c < push.channels; c++)
            v[c] = (element(push.first + uint(int(at.x) * push.column_stride + int(at.y) * push.row_stride
                                              + int(c) * push.channel_stride)) - low) * scale;
        if (push.channels == 1u) color = isnan(v[0]) ? vec4(1, 0, 1, 1) : vec4(mapped(v[0]), 1);
        else if (push.channels == 2u) color = vec4(v[0], v[1], 0, 1);
        else color = vec4(v[0], v[1], v[2], 1);
        if (push.channels == 4u) color.rgb = mix(vec3(0.12), color.rgb, clamp(v[3], 0.0, 1.0));
    }
    imageStore(picture, p, clamp(color, 0.0, 1.0));
}
"""
_POINTS = """#version 450
layout(binding = 0, std430) readonly buffer Words { uint words[]; };
layout(binding = 4, std430) readonly buffer Tints { uint tints[]; };
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push {
    vec4 turn; vec2 shift; float zoom, aspect, size; int kind; uint first, dimensions; int column_stride, row_stride;
    uint tint_first, tint_channels; int tint_row, tint_column; uint tint_bytes;
} push;
""" + _RANGES + _MAP + _ELEMENTS + """
void main() {
    vec3 p = vec3(0), low = vec3(0), high = vec3(0);
    for (uint c = 0u; c < push.dimensions; c++) {
        p[c] = element(push.first + uint(gl_VertexIndex * push.row_stride + int(c) * push.column_stride));
        low[c] = back(ranges[c * 2u]);
        high[c] = back(ranges[c * 2u + 1u]);
    }
    vec3 spans = high - low, middle = (high + low) / 2;
    float span = max(max(spans.x, spans.y), max(spans.z, 1e-30));
    vec3 q = (p - middle) / span * 1.8;
    float yaw = push.turn.x, pitch = push.turn.y;
    q = vec3(q.x * cos(yaw) + q.z * sin(yaw), q.y, q.z * cos(yaw) - q.x * sin(yaw));
    q = vec3(q.x, q.y * cos(pitch) - q.z * sin(pitch), q.z * cos(pitch) + q.y * sin(pitch));
    gl_Position = vec4((q.x * push.zoom + push.shift.x) / max(push.aspect, 1.0),
                       -(q.y * push.zoom) * min(push.aspect, 1.0) + push.shift.y, 0.5 + 0.25 * clamp(q.z, -1.9, 1.9), 1);
    gl_PointSize = push.size;
    float depth = 0.5 + q.z / 3.6;
    color = vec4(push.dimensions == 3u ? mapped(depth) : vec3(0.35, 0.75, 1.0), 1);
    if (push.tint_channels > 0u) {
        vec3 t = vec3(0);
        for (uint c = 0u; c < 3u; c++) {
            uint byte = push.tint_first + uint(gl_VertexIndex * push.tint_row + int(min(c, push.tint_channels - 1u)) * push.tint_column);
            uint w = tints[byte >> 2];
            t[c] = push.tint_bytes == 1u ? float(w >> ((byte & 3u) * 8u) & 0xffu) / 255.0 : uintBitsToFloat(w);
        }
        color = vec4(push.tint_channels == 1u ? mapped(t.x) : t, 1);
    }
}
"""
_POINT = """#version 450
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 pixel;
void main() { pixel = color; }
"""


SHADERS = [(_RANGE, "comp"), (_IMAGE, "comp"), (_POINTS, "vert"), (_POINT, "frag")]  # scripts/python-shaders compiles them


class _Shape(NamedTuple):
    layout: str  # "image" or "points"
    rows: int
    columns: int
    channels: int
    row_stride: int  # bytes
    column_stride: int
    channel_stride: int
    slices: int
    slice_stride: int


def _see(tensor: Any, say: Callable[[str], None], what: str = "the tensor") -> Tuple[Any, Seen]:
    """The tensor, or a copy whose elements the shader can read, and how it lies."""
    seen = look(tensor)
    name = _kind(seen)
    if name not in _KINDS:
        raise TypeError(f"culvert.show() shows no elements of type {seen.typestr}")
    if 0 in seen.shape:
        raise ValueError(f"the tensor of shape {seen.shape} has no elements")
    odd = any(s % min(seen.size, 4) for s in (seen.pointer, *(s for n, s in zip(seen.shape, seen.strides) if n > 1)))
    if seen.on_host and (seen.swapped or odd or seen.copied):
        import numpy
        say(f"{what} is copied for each frame: " + ("its elements are in the other byte order" if seen.swapped else
            "its elements lie at odd addresses" if odd else f"a {seen.what} has no memory of its own"))
        tensor = numpy.array(tensor, dtype=numpy.dtype(seen.typestr).newbyteorder("="), order="C") if name != "V2" else \
            numpy.array(tensor, order="C")
        seen = look(tensor)
    elif seen.swapped or odd:
        raise ValueError(f"the elements of the tensor {seen.shape} lie at odd addresses (strides of {seen.strides} bytes): pass a "
                         "contiguous one")
    if seen.span[1] >= 2**32:
        raise ValueError(f"the tensor {seen.shape} spans {seen.span[1]} bytes, and a shader reaches 4 GiB: show a part of it")
    return tensor, seen


def _kind(seen: Seen) -> str:
    return {"b1": "u1"}.get(seen.typestr[1:], seen.typestr[1:])


def _nothing(_: str) -> None:
    pass


def _shape(seen: Seen, layout: Optional[str]) -> _Shape:
    shape, strides = list(seen.shape), list(seen.strides)
    while len(shape) > 2 and shape[0] == 1 and not (layout == "CHW" and len(shape) == 3):
        del shape[0], strides[0]
    if len(shape) == 0:
        shape, strides = [1], [seen.size]
    if len(shape) == 1:
        shape, strides = [1, *shape], [0, *strides]
    if layout is None:
        if len(shape) == 2:
            layout = "points" if shape[1] in (2, 3) and shape[0] > 3 else "HW"
        elif len(shape) == 3:
            layout = "HWC" if shape[2] <= 4 else "CHW" if shape[0] <= 4 else "DHW"
    wanted = {"HW": 2, "points": 2, "HWC": 3, "CHW": 3, "DHW": 3}
    if layout not in wanted or wanted[layout] != len(shape):
        raise ValueError(f"a tensor of shape {seen.shape} is no {layout or 'picture'}: layouts are HW, HWC, CHW, DHW (a volume, "
                         "shown by slices) and points (N x 2 or N x 3)")
    at = {letter: (n, s) for letter, n, s in zip("NK" if layout == "points" else layout, shape, strides)}
    if layout == "points":
        if at["K"][0] not in (2, 3):
            raise ValueError(f"points are N x 2 or N x 3, and the tensor has the shape {seen.shape}")
        return _Shape("points", at["N"][0], at["K"][0], 1, at["N"][1], at["K"][1], 0, 1, 0)
    channels = at.get("C", (1, 0))
    if channels[0] > 4:
        raise ValueError(f"{channels[0]} channels in the layout {layout}: a picture has 1 to 4")
    return _Shape("image", at["H"][0], at["W"][0], channels[0], at["H"][1], at["W"][1], channels[1], *at.get("D", (1, 0)))


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _alone(method: _Method) -> _Method:
    """One thread at a time: another one may close the view, or the context and the buffers to which CUDA writes here."""
    @functools.wraps(method)
    def locked(self: Any, *args: Any, **more: Any) -> Any:
        home = self.gpu._home
        with self._lock, contextlib.nullcontext() if home is None else home.lock:
            return method(self, *args, **more)

    return cast(_Method, locked)


class View(Closing):
    """What culvert.show() made. Drag moves (or turns points of three dimensions), the wheel zooms, + and - step through a
    volume, r starts again; the title tells what is under the pointer."""

    INTERVAL = 1 / 60  # of update(): more frames than that nobody sees

    def __init__(self, tensor: TensorLike, *, title: str, range: Optional[Tuple[float, float]], colormap: str, layout: Optional[str],
                 colors: Optional[TensorLike], size: Optional[Tuple[int, int]], point_size: float, slice: Optional[int], gpu: Optional[Context],
                 window: Optional[bool], stream: StreamLike, out: Optional[Path]):
        if colormap not in COLORMAPS:
            raise ValueError(f"colormap is one of {', '.join(COLORMAPS)}")
        if out is not None:
            check_png(out)
        self.title, self.range_given, self.layout, self.stream, self.out = title, range, layout, stream, out
        self.point_size, self.colors = point_size, colors
        self.says: List[str] = []  # what one may want to know: copies, no window
        self.closed = False
        self._lock = threading.RLock()
        self.zoom, self.pan, self.turn = 1.0, [0.0, 0.0], [0.5, -0.4]
        self._window: Optional[Window] = None
        self._own: Optional[Context] = None
        self._parts: List[Any] = []  # to close
        self._tensor: Any = None  # what was given, and what is drawn: the same, or a copy
        self._drawn: Any = None
        self._made_colors: Any = None
        self._staged: Dict[str, VulkanBuffer] = {}
        self._last = 0.0
        self.slice = slice
        self.gpu: Context
        shape = _shape(_see(tensor, _nothing)[1], layout)
        self.width, self.height = size or self._fitting(shape)
        self._open(gpu, window)
        try:
            self._prepare(colormap)
            self.show(tensor)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _fitting(shape: _Shape) -> Tuple[int, int]:
        if shape.layout == "points":
            return 800, 600
        times = max(1, min(768 // max(shape.columns, 1), 768 // max(shape.rows, 1)))
        scale = min(1.0, 1600 / shape.columns, 1000 / shape.rows) if times == 1 else times
        return max(64, int(shape.columns * scale)), max(64, int(shape.rows * scale))

    def _open(self, gpu: Optional[Context], window: Optional[bool]) -> None:
        if gpu is not None:
            if window:
                raise ValueError("a window needs a context of its own: leave gpu out, or say window=False")
            self.gpu = gpu
            return
        if window is not False:
            try:
                self._window = Window(self.title, self.width, self.height)
                self.gpu = self._window.gpu
                return
            except (NoWindow, Error) as e:
                if window:
                    raise
                self.says.append(f"no window: {e}")
        self.gpu = self._own = Context()

    @_alone
    def _prepare(self, colormap: str) -> None:
        gpu = self.gpu
        self.target = Target(gpu, self.width, self.height)
        self._ranges = gpu.vk.buffer(24)
        self._colors = gpu.vk.buffer(36)
        self._range = Compute(gpu, _RANGE)
        self._image: Optional[Compute] = None
        self._points: Optional[Pipeline] = None
        self._parts = [self.target, self._ranges, self._colors, self._range]
        table = b"".join(bytes.fromhex(c) + b"\xff" for c in COLORMAPS[colormap])
        gpu.device.make_current()
        gpu.device.cuda.cuMemcpyHtoD(self._colors.pointer, table, len(table))
        gpu.device.cuda.cuStreamSynchronize(0)  # the copy from the host's memory returns before its end

    def _say(self, text: str) -> None:
        if text not in self.says:
            self.says.append(text)

    def _place(self, tensor: Any, seen: Seen, what: str) -> Tuple[Part, int]:
        """The tensor in Vulkan, and where its first element is from the part's beginning, in bytes."""
        queue = _Queue.of(self.gpu)
        (low, size), first = seen.span, seen.pointer
        try:
            part = queue.part(tensor)
        except (Error, TypeError, ValueError) as e:
            part = self._stage(low, size, what, HOSTS[0].lower() + HOSTS[1:] if _is_unknown(e, tensor) else str(e))
        align = max(self._range.align, 4)
        down = part.offset % align
        return Part(part.buffer, part.offset - down, (part.size + down + 3) // 4 * 4), first - low + down

    def _stage(self, low: int, size: int, what: str, why: str) -> Part:
        if not any(said.startswith(f"{what} is copied") for said in self.says):
            self.says.append(f"{what} is copied for each frame: {why}")
        there = self._staged.get(what)
        if there is None or there.size < size:
            if there is not None:
                there.close()
            there = self._staged[what] = self.gpu.vk.buffer((size + 3) // 4 * 4)
        self.gpu.device.make_current()
        self.gpu.device.cuda.cuMemcpyAsync(there.pointer, low, size, stream_handle(self.stream))
        return Part(there.handle, 0, there.size)

    @_alone
    def show(self, tensor: TensorLike) -> None:
        """Takes another tensor, and draws it."""
        self._take(tensor)
        if self.slice is None and self._shape.slices > 1:
            self.slice = self._shape.slices // 2
        self.draw()
        if self._window is not None:
            self._window.present(self.target.image.handle, self.target.acquire(), 10**9)

    def _take(self, tensor: Any) -> None:
        drawn, seen = _see(tensor, self._say)
        self._shape = _shape(seen, self.layout)
        self._tensor, self._drawn, self._seen = tensor, drawn, seen

    @_alone
    def draw(self) -> None:
        self._need_open()
        if self._drawn is not self._tensor:  # a copy of what was there
            self._take(self._tensor)
        shape = self._shape
        part, first = self._place(self._drawn, self._seen, "the tensor")
        first += (self.slice or 0) * shape.slice_stride
        common: Dict[str, Any] = dict(Words=part, kind=_KINDS.index(_kind(self._seen)))
        low, high = self._range_of(common, first)
        if shape.layout == "points":
            self._draw_points(common, first)
            return
        if self._image is None:
            self._image = Compute(self.gpu, _IMAGE)
            self._parts.append(self._image)
        corner, texel = self._window_of_texels()
        self._image(((self.width + 7) // 8, (self.height + 7) // 8), stream=self.stream, Ranges=self._ranges,
                    Colors=self._colors, picture=self.target, corner=corner, texel=texel, low=low, high=high, first=first,
                    columns=shape.columns, rows=shape.rows, channels=shape.channels, column_stride=shape.column_stride,
                    row_stride=shape.row_stride, channel_stride=shape.channel_stride, **common)

    def _range_of(self, common: Dict[str, Any], first: int) -> Tuple[float, float]:
        """The range that was given or that the type has; (0, 0) means that of the tensor, which the GPU finds."""
        shape, points = self._shape, self._shape.layout == "points"
        if not points:
            if self.range_given is not None:
                return self.range_given
            if shape.channels > 1:
                return (0.0, 255.0) if _kind(self._seen) == "u1" else (0.0, 1.0)
        device = self.gpu.device
        device.make_current()
        number = stream_handle(self.stream)
        for i in range(3 if points else 1):
            device.cuda.cuMemsetD32Async(self._ranges.pointer + 8 * i, 0xffffffff, 1, number)
            device.cuda.cuMemsetD32Async(self._ranges.pointer + 8 * i + 4, 0, 1, number)
        if points:
            rows = max(1, min(shape.rows // 4096, 65535))
            columns = -(-shape.rows // rows)
            for c in range(shape.columns):
                whole, rest = divmod(shape.rows, columns)
                for at, n, count in ((0, whole, columns), (whole * columns, 1, rest)):
                    if n and count:
                        self._range((n,), stream=self.stream, Ranges=self._ranges, part=c, columns=count, rows=n,
                                    first=first + c * shape.column_stride + at * shape.row_stride,
                                    column_stride=shape.row_stride, row_stride=shape.row_stride * columns, **common)
        else:
            self._range((min(shape.rows, 65535),), stream=self.stream, Ranges=self._ranges, part=0, columns=shape.columns,
                        rows=shape.rows, first=first, column_stride=shape.column_stride, row_stride=shape.row_stride, **common)
        return 0.0, 0.0

    def _numbers_of_colors(self) -> Tuple[Any, Seen]:
        """float32 or uint8, as the shader reads them."""
        colors, seen = _see(self.colors, self._say, "the tensor of colours")
        if _kind(seen) not in ("f4", "u1"):
            self._say("the tensor of colours is made float32 for each frame")
            colors, seen = _see(colors.float() if hasattr(colors, "data_ptr") else colors.astype("float32"), self._say)
        self._made_colors = colors
        return colors, seen

    def _draw_points(self, common: Dict[str, Any], first: int) -> None:
        shape = self._shape
        if self._points is None:
            self._points = Pipeline(self.gpu, _POINTS, _POINT, topology="points")
            self._parts.append(self._points)
        tints: Dict[str, Any] = dict(Tints=self._colors, tint_channels=0)
        if self.colors is not None:
            colors, seen = self._numbers_of_colors()
            if len(seen.shape) not in (1, 2) or seen.shape[0] != shape.rows \
                    or (len(seen.shape) == 2 and seen.shape[1] not in (1, 3, 4)):
                raise ValueError(f"colors of shape {seen.shape} for {shape.rows} points: give floats or uint8, one, three or "
                                 "four numbers a point")
            part, at = self._place(colors, seen, "the tensor of colours")
            tints = dict(Tints=part, tint_first=at, tint_channels=seen.shape[1] if len(seen.shape) == 2 else 1,
                         tint_row=seen.strides[0], tint_column=seen.strides[1] if len(seen.shape) == 2 else 0,
                         tint_bytes=seen.size)
        turn = self.turn if shape.columns == 3 else [0, 0]
        self.target.draw(self._points, shape.rows, clear=(0.07, 0.07, 0.09, 1), stream=self.stream, Ranges=self._ranges,
                         Colors=self._colors, turn=(*turn, 0, 0), shift=(self.pan[0] / self.width * 2,
                                                                         self.pan[1] / self.height * 2),
                         zoom=self.zoom, aspect=self.width / self.height, size=self.point_size, first=first,
                         dimensions=shape.columns, column_stride=shape.column_stride, row_stride=shape.row_stride, **tints,
                         **common)

    def _window_of_texels(self) -> Tuple[Tuple[float, float], float]:
        """(the texel at the picture's upper left corner, texels a pixel)"""
        shape = self._shape
        texel = max(shape.columns / self.width, shape.rows / self.height) / self.zoom
        return ((shape.columns - self.width * texel) / 2 - self.pan[0] * texel,
                (shape.rows - self.height * texel) / 2 - self.pan[1] * texel), texel

    @property
    @_alone
    def range(self) -> Tuple[float, float]:
        """What the ends of the colour map mean."""
        if self._shape.layout == "image" and (self.range_given is not None or self._shape.channels > 1):
            return self._range_of({}, 0)
        self.gpu.wait_idle()
        out = (ctypes.c_uint32 * 2)()
        self.gpu.device.make_current()
        self.gpu.device.cuda.cuMemcpyDtoH(out, self._ranges.pointer, 8)

        def back(u: int) -> float:
            found: float = struct.unpack("f", struct.pack("I", u & 0x7fffffff if u & 0x80000000 else ~u & 0xffffffff))[0]
            return found

        return (back(out[0]), back(out[1])) if out[0] <= out[1] else (0.0, 0.0)

    @_alone
    def value_at(self, x: float, y: float) -> Optional[Tuple[int, int, Tuple[float, ...]]]:
        """(column, row, the element's values) under a pixel of the picture, or None where there is none."""
        shape, seen = self._shape, self._seen
        if shape.layout != "image":
            return None
        corner, texel = self._window_of_texels()
        column, row = math.floor(corner[0] + (x + 0.5) * texel), math.floor(corner[1] + (y + 0.5) * texel)
        if not (0 <= column < shape.columns and 0 <= row < shape.rows):
            return None
        device, values, name = self.gpu.device, [], _kind(seen)
        device.make_current()
        for c in range(shape.channels):
            out = ctypes.create_string_buffer(seen.size)
            device.cuda.cuMemcpy(ctypes.addressof(out), seen.pointer + (self.slice or 0) * shape.slice_stride
                                 + column * shape.column_stride + row * shape.row_stride + c * shape.channel_stride, seen.size)
            raw = out.raw[:seen.size]
            values.append(struct.unpack("<f", b"\0\0" + raw)[0] if name == "V2" else struct.unpack("<" + _FORMATS[name], raw)[0])
        return column, row, tuple(values)

    @_alone
    def update(self, tensor: Optional[TensorLike] = None) -> bool:
        """Draws what is in the tensor now, or in another one, and hears the window. It waits for no display: a frame for
        which there is no room is left out. False when the window was closed."""
        if self.closed:
            return False
        self._hear()
        if self.closed:
            return False
        now = time.monotonic()
        if tensor is not None:
            self._take(tensor)
        if self._window is None or now - self._last >= self.INTERVAL:
            self._last = now
            self.draw()
            if self._window is not None:
                self._window.present(self.target.image.handle, self.target.acquire())
        return True

    def _hear(self) -> None:
        if self._window is None:
            return
        for event in self._window.own.poll():
            self.event(*event)
            if self.closed:
                return

    @_alone
    def event(self, kind: str, *more: Any) -> None:
        """What the window tells: ("scroll", steps), ("drag", dx, dy), ("pointer", x, y), ("key", text), ("close",)."""
        if kind == "close":
            self.close()
        elif kind == "scroll":
            self.zoom = min(max(self.zoom * 1.15 ** more[0], 0.02), 4096)
        elif kind == "drag" and self._shape.layout == "points" and self._shape.columns == 3:
            self.turn = [self.turn[0] + more[0] / 200, self.turn[1] + more[1] / 200]
        elif kind == "drag":
            self.pan = [self.pan[0] + more[0], self.pan[1] + more[1]]
        elif kind == "key" and more[0] in ("+", "-") and self._shape.slices > 1:
            self.slice = min(max((self.slice or 0) + (1 if more[0] == "+" else -1), 0), self._shape.slices - 1)
        elif kind == "key" and more[0] == "r":
            self.zoom, self.pan, self.turn = 1.0, [0.0, 0.0], [0.5, -0.4]
        elif kind == "pointer" and self._window is not None:
            there = self.value_at(*more)
            at = f" slice {self.slice}" if self._shape.slices > 1 else ""
            self._window.own.title(f"{self.title}{at}" if there is None else f"{self.title}{at} ({there[0]}, {there[1]}) "
                                   + ", ".join(f"{v:.6g}" for v in there[2]))

    def wait(self) -> None:
        """Until the window is closed."""
        while self._window is not None and self.update():
            time.sleep(self.INTERVAL)

    @_alone
    def png(self) -> bytes:
        self._need_open()
        return self.target.png(self.stream)

    @_alone
    def save(self, path: Path) -> None:
        self._need_open()
        self.target.save(path)

    def _need_open(self) -> None:
        if self.closed:
            raise ValueError("this View is closed: save() a picture before, or name a file by `out`")

    def _repr_png_(self) -> bytes:
        return self.png()

    def __repr__(self) -> str:
        shape = self._seen.shape
        return told(self, self.closed, [f"{self.width} x {self.height}", f"{self._shape.layout} of shape {shape}",
                                        "in a window" if self._window is not None else "without a window",
                                        f"on {self.gpu.device.name!r}", *self.says])

    @_alone
    def close(self) -> None:
        """Closes the window. Without one, the last picture goes to the file `out`, if that was given; the first one is there."""
        if self.closed:
            return
        try:
            if self.out is not None and self._window is None and self._parts:
                self.save(self.out)
        finally:
            self.closed = True
            self._release()

    def _release(self) -> None:
        self._tensor = self._drawn = self.colors = self._made_colors = None  # a view that is closed keeps nobody's memory
        for part in [*self._staged.values(), *reversed(self._parts)]:
            part.close()
        queue = getattr(self.gpu, "_draws", None)
        if queue is not None and not queue.timeline.closed:
            queue.drop()
        if self._window is not None:
            self._window.close()
        elif self._own is not None:
            self._own.close()


def show(tensor: TensorLike, *, title: str = "culvert", range: Optional[Sequence[float]] = None, colormap: str = "viridis",
         layout: Optional[str] = None, colors: Optional[TensorLike] = None, size: Optional[Tuple[int, int]] = None, point_size: float = 2.0,
         slice: Optional[int] = None, gpu: Optional[Context] = None, window: Optional[bool] = None, stream: StreamLike = None,
         out: Optional[Path] = None, block: bool = False) -> View:
    """Shows a tensor of PyTorch, CuPy, NumPy or Culvert in a window, or as a picture where there is no display.

    Shapes: H x W, H x W x C, C x H x W, D x H x W (a volume, by slices), N x 2 and N x 3 (points, with `colors`); `layout`
    says which ("HW", "HWC", "CHW", "DHW", "points") where the shape may mean two. Elements are floats of 16, 32 and 64 bits,
    bfloat16, integers and booleans. `range` is what the ends of the colour map mean; by default what the tensor has.
    Nothing is copied where the memory can be shared; view.says tells what was, and why. view.update() draws again, in a
    training loop for instance, and waits for nothing; block=True returns when the window is closed. Without a window,
    `out` names a PNG: the first picture is there at once, the last one after close(). In a notebook the view shows itself."""
    if range is not None and not (hasattr(range, "__len__") and len(range) == 2):
        raise ValueError(f"range={range!r}: pass what the ends of the colour map mean, such as range=(0, 1)")
    view = View(tensor, title=title, range=None if range is None else (float(range[0]), float(range[1])), colormap=colormap,
                layout=layout, colors=colors, size=size, point_size=point_size, slice=slice, gpu=gpu, window=window,
                stream=stream, out=out)
    if out is not None and view._window is None:
        view.save(out)
    if block:
        view.wait()
    return view


