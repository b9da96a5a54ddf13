# SPDX-License-Identifier: MIT
"""What a SPIR-V module says of itself: its bindings and its push constants, by their names in the source.
Source: SPIR-V Specification 1.6, sections 2.3 (physical layout) and 3 (instructions)."""
import base64
import hashlib
import shutil
import struct
import subprocess
import tempfile
import zlib
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from . import _declarations as d
from ._shaders import SPIRV

STAGES = {"vert": d.VK_SHADER_STAGE_VERTEX_BIT, "frag": d.VK_SHADER_STAGE_FRAGMENT_BIT,
          "comp": d.VK_SHADER_STAGE_COMPUTE_BIT}


def hashed(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def compiled(source: Union[str, bytes], stage: str) -> bytes:
    """SPIR-V as it is, or GLSL: this package's own, which is compiled already, or by glslangValidator."""
    if isinstance(source, bytes):
        return source
    ready = SPIRV.get(hashed(source))
    return zlib.decompress(base64.b85decode(ready)) if ready else by_glslang(source, stage)


def by_glslang(source: str, stage: str) -> bytes:
    """Debian: glslang-tools."""
    tool = shutil.which("glslangValidator")
    if tool is None:
        raise RuntimeError("GLSL needs glslangValidator (Debian: apt install glslang-tools); SPIR-V, as bytes, does not")
    with tempfile.TemporaryDirectory() as room:
        with open(f"{room}/shader.{stage}", "w") as f:
            f.write(source)
        made = subprocess.run([tool, "-V", "--target-env", "vulkan1.2", "-o", f"{room}/out.spv", f"{room}/shader.{stage}"],
                              capture_output=True, text=True)
        if made.returncode != 0:
            said = [line for line in made.stdout.splitlines() if line.startswith(("ERROR", "WARNING"))]
            raise ValueError(f"the {stage} shader does not compile:\n" + "\n".join(said))
        with open(f"{room}/out.spv", "rb") as f:
            return f.read()


class Binding(NamedTuple):
    name: str
    number: int
    kind: int  # VkDescriptorType
    writes: bool
    floats: Set[int]  # bits of the floats in it


class Constant(NamedTuple):
    offset: int
    format: str  # of the module struct
    numbers: int


class Module:
    """The interface of one entry point `main`."""

    def __init__(self, code: bytes):
        words = struct.unpack(f"<{len(code) // 4}I", code)
        if len(code) % 4 or len(words) < 5 or words[0] != 0x07230203:
            raise ValueError("this is no SPIR-V")
        self.code = code
        self._names: Dict[int, str] = {}
        self._members: Dict[Tuple[int, int], str] = {}
        self._decorations: Dict[Tuple[int, int], Tuple[int, ...]] = {}
        self._member_decorations: Dict[Tuple[int, int, int], Tuple[int, ...]] = {}
        self._types: Dict[int, Tuple[int, Tuple[int, ...]]] = {}
        self._values: Dict[int, int] = {}
        variables: List[Tuple[int, int, int]] = []
        self.local_size: Tuple[int, ...] = (1, 1, 1)
        at = 5
        while at < len(words):
            length, op = words[at] >> 16, words[at] & 0xffff
            if length == 0 or at + length > len(words):
                raise ValueError(f"the SPIR-V ends inside the instruction at word {at}")
            a = words[at + 1:at + length]
            if op == 5:  # OpName
                self._names[a[0]] = _text(a[1:])
            elif op == 6:  # OpMemberName
                self._members[a[0], a[1]] = _text(a[2:])
            elif op == 71:  # OpDecorate
                self._decorations[a[0], a[1]] = a[2:]
            elif op == 72:  # OpMemberDecorate
                self._member_decorations[a[0], a[1], a[2]] = a[3:]
            elif op == 16 and a[1] == 17:  # OpExecutionMode LocalSize
                self.local_size = a[2:5]
            elif op == 43:  # OpConstant
                self._values[a[1]] = a[2]
            elif 19 <= op <= 33:  # OpType...
                self._types[a[0]] = (op, a[1:])
            elif op == 59:  # OpVariable
                variables.append((a[1], a[0], a[2]))
            at += length
        self.bindings: List[Binding] = []
        self.constants: Dict[str, Constant] = {}
        self.constants_size = 0
        for variable, pointer, storage in variables:
            kind = self._types[pointer][1][1]
            if storage == 9:  # PushConstant
                self._push_constants(kind)
            elif (variable, 33) in self._decorations:  # Binding
                self._bind(variable, kind, storage)

    def _bind(self, variable: int, kind: int, storage: int) -> None:
        if self._decorations.get((variable, 34), (0,))[0] != 0:  # DescriptorSet
            raise ValueError(f"{self._names.get(variable)} is in a descriptor set other than 0, which has all bindings here")
        op, more = self._types[kind]
        if op in (28, 29):
            raise ValueError(f"{self._names.get(variable)} is an array of bindings, which culvert.draw does not fill")
        if op == 30:  # OpTypeStruct: a block
            buffer = storage == 12 or (kind, 3) in self._decorations  # StorageBuffer, BufferBlock
            found = d.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER if buffer else d.VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
            read_only = (variable, 24) in self._decorations or all(
                (kind, m, 24) in self._member_decorations for m in range(len(more)))  # NonWritable
            names = [self._names.get(variable), self._names.get(kind)]
            if len(more) == 1:
                names.append(self._members.get((kind, 0)))
            writes = buffer and not read_only
        elif op == 27:  # OpTypeSampledImage
            found, writes, names = d.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, False, [self._names.get(variable)]
        elif op == 25 and more[5] == 2:  # OpTypeImage, storage
            found, names = d.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, [self._names.get(variable)]
            writes = (variable, 24) not in self._decorations
        else:
            raise ValueError(f"{self._names.get(variable)} is of a kind that culvert.draw does not bind")
        number = self._decorations[variable, 33][0]
        floats = self._floats(kind)
        self.bindings += [Binding(name, number, found, writes, floats) for name in dict.fromkeys(n for n in names if n)]

    def _floats(self, of: int) -> Set[int]:
        op, more = self._types.get(of, (0, ()))
        inner = more if op == 30 else more[:1] if op in (23, 24, 28, 29) else ()  # structs; vectors, matrices, arrays
        return {more[0]} if op == 22 else {bits for t in inner for bits in self._floats(t)}

    def _push_constants(self, kind: int) -> None:
        for m, of in enumerate(self._types[kind][1]):
            offset = self._member_decorations.get((kind, m, 35), (0,))[0]
            layout = self._layout(of)
            if layout is None:
                raise ValueError(f"the push constant {self._members.get((kind, m))} is neither a number nor a vector of them")
            self.constants[self._members.get((kind, m), f"m{m}")] = Constant(offset, *layout)
            self.constants_size = max(self.constants_size, offset + struct.calcsize(layout[0]) * layout[1])

    def _layout(self, of: int) -> Optional[Tuple[str, int]]:
        op, more = self._types[of]
        if op == 21:  # OpTypeInt
            return {(32, 0): ("<I", 1), (32, 1): ("<i", 1), (64, 0): ("<Q", 1), (64, 1): ("<q", 1)}.get((more[0], more[1]))
        if op == 22:
            return {32: ("<f", 1), 64: ("<d", 1)}.get(more[0])
        if op in (23, 24):  # OpTypeVector, OpTypeMatrix (of columns of four)
            inner = self._layout(more[0])
            if inner is None or (op == 24 and inner[1] != 4):
                return None
            return inner[0], inner[1] * more[1]
        if op == 28 and more[1] in self._values:  # OpTypeArray of numbers of 16 bytes, or of scalars packed tightly
            inner = self._layout(more[0])
            stride = self._decorations.get((of, 6), (0,))[0]
            if inner is not None and stride == struct.calcsize(inner[0]) * inner[1]:
                return inner[0], inner[1] * self._values[more[1]]
        return None


def _text(words: Sequence[int]) -> str:
    return struct.pack(f"<{len(words)}I", *words).split(b"\0")[0].decode(errors="replace")


def packed(constants: Dict[str, Constant], size: int, values: Dict[str, Any]) -> bytes:
    """The push constants of a draw. What is not given is 0."""
    out = bytearray(size)
    for name, value in values.items():
        c = constants[name]
        numbers = _flat(value)
        if len(numbers) != c.numbers:
            raise ValueError(f"{name} has {c.numbers} numbers, and {len(numbers)} were given")
        kind = c.format[1]
        if kind not in "fd":
            for n in numbers:
                if isinstance(n, str) or n != int(n):
                    raise ValueError(f"{name}={value!r}: it takes whole numbers")
        try:
            struct.pack_into(f"<{c.numbers}{kind}", out, c.offset, *[n if kind in "fd" else int(n) for n in numbers])
        except (struct.error, OverflowError) as e:
            raise ValueError(f"{name}={value!r} does not fit: {e}") from None
    return bytes(out)


def _flat(value: Any) -> List[Any]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [n for v in value for n in _flat(v)]
    return [value]
