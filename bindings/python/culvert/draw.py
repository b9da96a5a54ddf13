# SPDX-License-Identifier: MIT
"""From a tensor to a picture: shaders in GLSL or SPIR-V, whose buffers and push constants are given by name.

    with culvert.vulkan.open() as gpu, draw.Target(gpu, 640, 480) as picture:
        dots = draw.Pipeline(gpu, VERTEX, FRAGMENT, topology="points")
        picture.draw(dots, vertices=len(points), clear=(0, 0, 0, 1), points=points, scale=2.0)
        picture.save("points.png")

A tensor is one of PyTorch, CuPy or NumPy on Culvert's memory, one of PyTorch's own allocator with expandable segments
(VulkanDevice.adopt), or something of Culvert's: a Tensor, a buffer, a ring's slot. Each call waits for what its stream
has done so far, and the stream's later work waits for the call; the host waits for neither."""
import contextlib
import ctypes
import functools
import operator
import os
import struct
import threading
import zlib
from ctypes import c_void_p
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, TypeVar, Union, cast

from . import _declarations as d
from ._lib import Closing, Error, Single, looks, not_negative, process, stream_handle, told
from ._objects import AdoptedBuffer, VulkanDevice, VulkanImage
from ._spirv import STAGES, Constant, Module, compiled, packed
from ._tensor import COPY, HOSTS, Tensor, TensorSource, is_hosts, look, tensor_range
from ._types import Path, StreamLike, TensorLike
from .vulkan import Context

_TOPOLOGIES = {"points": d.VK_PRIMITIVE_TOPOLOGY_POINT_LIST, "lines": d.VK_PRIMITIVE_TOPOLOGY_LINE_LIST,
               "line strip": d.VK_PRIMITIVE_TOPOLOGY_LINE_STRIP, "triangles": d.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
               "triangle strip": d.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP}
_ONE, _ALPHA, _ONE_LESS_ALPHA = (d.VK_BLEND_FACTOR_ONE, d.VK_BLEND_FACTOR_SRC_ALPHA, d.VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA)
_BLENDS = {"none": None, "alpha": (_ALPHA, _ONE_LESS_ALPHA), "add": (_ONE, _ONE)}
_COLORS = (d.VK_COLOR_COMPONENT_R_BIT | d.VK_COLOR_COMPONENT_G_BIT | d.VK_COLOR_COMPONENT_B_BIT | d.VK_COLOR_COMPONENT_A_BIT)
_EVERYTHING = d.VK_ACCESS_2_MEMORY_READ_BIT | d.VK_ACCESS_2_MEMORY_WRITE_BIT
_ALL = d.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT


class Part(NamedTuple):
    """Where memory lies in Vulkan."""
    buffer: int
    offset: int
    size: int


# What a shader's buffer takes: a tensor of anybody's, or something of Culvert's that has a VkBuffer.
Memory = Union[Part, Tensor, TensorSource, AdoptedBuffer, TensorLike]


def _array(kind: Any, values: Sequence[Any]) -> "ctypes.Array[Any]":
    made: "ctypes.Array[Any]" = (kind * max(len(values), 1))(*values)
    return made


def spirv(source: Union[str, bytes], stage: str) -> bytes:
    """SPIR-V of a shader in GLSL, for a machine that has no compiler. stage: "vert", "frag" or "comp"."""
    return compiled(source, stage)


_Call = TypeVar("_Call", bound=Callable[..., Any])


def _one_at_a_time(call: _Call) -> _Call:
    """Threads share the context's queue and what its draws keep."""

    @functools.wraps(call)
    def locked(self: Any, *args: Any, **more: Any) -> Any:
        home = self.gpu._home
        with contextlib.nullcontext() if home is None else home.lock:
            return call(self, *args, **more)

    return cast(_Call, locked)


class _Queue(Single):
    """What a context's draws share: a timeline between CUDA's stream and Vulkan's queue, and what is given back when a
    submission has ended."""

    def __init__(self, gpu: Context):
        self.gpu, self.functions = gpu, gpu.functions
        self.timeline, self.value = gpu.vk.timeline(), 0
        self.cut = False  # an exception came between a signal and its wait
        self.adopted: Dict[Tuple[int, int], AdoptedBuffer] = {}
        self.pending: List[Tuple[int, int, int, Any]] = []  # value, command buffer, descriptor pool, what it uses
        self.free: List[int] = []

    @staticmethod
    def of(gpu: Context) -> "_Queue":
        there = getattr(gpu, "_draws", None)
        if there is not None and there.cut and not there.timeline.closed:
            # Nobody knows which of its values come yet, and a timeline never goes back: another one begins.
            gpu._open_home().wait(gpu._open_home().PATIENCE, "culvert.draw")
            there.drop()
        if there is None or there.timeline.closed:
            there = gpu._draws = _Queue(gpu)
        return there

    def part(self, value: Memory) -> Part:
        """The VkBuffer of a tensor."""
        if isinstance(value, Part):
            return value
        if isinstance(value, Tensor) and self._has(value._source):
            source = value._source
            inner = self.part(source)
            return Part(inner.buffer, inner.offset + value.pointer - source.pointer,
                        inner.size - (value.pointer - source.pointer))
        if isinstance(value, AdoptedBuffer):
            if not self._has(value):
                raise ValueError("it is memory of another VkDevice: the context that made it has it (gpu=)")
            return Part(value.handle, value.offset, value.size)
        if isinstance(value, TensorSource) and hasattr(type(value), "handle") and self._has(value):
            return Part(getattr(value, "handle"), 0, value.size)
        if hasattr(type(value._source if isinstance(value, Tensor) else value), "handle"):
            raise ValueError("it is memory of another VkDevice: the context that made it has it (gpu=)")
        there: Any = value.tensor() if isinstance(value, TensorSource) else value
        pointer, size = tensor_range(there)
        owner = self._owner(pointer, size)
        if owner is not None:
            return owner
        adopted = self.adopted.get((pointer, size))
        if adopted is None or not adopted.is_current:
            if adopted is not None:
                adopted.close()
            adopted = self.adopted[pointer, size] = self.gpu.vk.adopt(pointer, size, sparse_queue=self.gpu.sparse_queue or None)
        parts = adopted.buffers()
        if len(parts) != 1:
            raise ValueError(f"the tensor lies in {len(parts)} chunks of memory, and the device has no sparse buffer for all of "
                             "them: larger chunks, or a buffer or vector of Culvert's, are in one piece")
        return Part(parts[0].buffer, parts[0].inner_offset, adopted.size)

    def _has(self, source: Any) -> bool:
        """Whether a VkBuffer is of this context's VkDevice. Another device's would be read wherever it happens to lie."""
        owner = getattr(source, "_ring", source)
        while owner is not None and not isinstance(owner, VulkanDevice):
            owner = getattr(owner, "_parent", None)
        return owner is not None and owner._desc.device == self.gpu.handle

    def _owner(self, pointer: int, size: int) -> Optional[Part]:
        """The buffer of this context in which an address lies."""
        with looks:  # another thread may make one
            children = list(self.gpu.vk._children)
        for child in children:
            if isinstance(child, TensorSource) and not child.closed and hasattr(type(child), "handle"):
                try:
                    begin = child.pointer
                    if begin <= pointer and pointer + size <= begin + child.size:
                        return Part(getattr(child, "handle"), pointer - begin, size)
                except ValueError:  # another thread has closed it
                    pass
        return None

    def collect(self) -> None:
        done = self.gpu._open_home()._counter(self.timeline.handle) if self.pending else 0
        while self.pending and self.pending[0][0] <= done:
            _, commands, pool, _ = self.pending.pop(0)
            self.free.append(commands)
            if pool:
                self.gpu._open_home().drop("DescriptorPool", pool)

    @_one_at_a_time
    def drop(self) -> None:
        """Gives back what is kept between draws."""
        self.gpu._open_home().settle("culvert.draw")
        self.collect()
        for view in self.adopted.values():
            view.close()
        self.adopted.clear()
        self.timeline.close()

    def begin(self) -> int:
        self.collect()
        made_by, me = self.gpu._open_home().made_by, threading.get_ident()
        mine = next((i for i, commands in enumerate(self.free) if made_by.get(commands) == me), None)
        commands = self.gpu.commands() if mine is None else self.free.pop(mine)
        self.functions.vkBeginCommandBuffer(commands, d.VkCommandBufferBeginInfo(
            flags=d.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT))
        return commands

    def submit(self, commands: int, pool: int, stream: StreamLike, uses: Any) -> None:
        """CUDA's stream, then Vulkan, then the stream again."""
        gpu, number = self.gpu, stream_handle(stream)
        self.functions.vkEndCommandBuffer(commands)
        if self.value:  # the last one may have come from another stream, and its values come first
            self.timeline.wait(number, self.value)
        self.cut = True
        self.value += 2
        signaled, done = self.value - 1, self.value
        self.timeline.signal(number, signaled)
        gpu.submit(commands, wait=[(self.timeline, signaled)], signal=[(self.timeline, done)])
        self.pending.append((done, commands, pool, uses))
        self.timeline.wait(number, done)
        self.cut = False
        if gpu.device.is_software:  # NumPy works when it is called
            gpu._open_home().wait(gpu._open_home().PATIENCE, "culvert.draw")

    def barriers(self, commands: int, parts: Sequence[Part], to_vulkan: bool,
                 images: Sequence[d.VkImageMemoryBarrier2] = ()) -> None:
        gpu = self.gpu
        gpu.barrier(commands, [gpu.vk.buffer_transfer(b, gpu.queue_family, to_vulkan) for b in
                                    dict.fromkeys(p.buffer for p in parts)], images)


def _is_unknown(error: Exception, tensor: Any) -> bool:
    """Memory that the driver did not make: the host's."""
    return getattr(error, "reason", "") == "NOT_MAPPED" and is_hosts(tensor)


def _whole(name: str, number: Any, most: int = 2**32 - 1) -> int:
    if not hasattr(number, "__index__"):
        raise TypeError(f"{name}: {number!r} is no whole number")
    return not_negative(most, **{name: operator.index(number)})


class _Bound(Closing):
    """A pipeline's layout, and the descriptors and push constants of a call."""

    def __init__(self, gpu: Context, modules: Dict[str, Module]):
        self.gpu, self.functions = gpu, gpu.functions
        self.stages = 0
        self.bindings: Dict[str, Tuple[int, int]] = {}  # (number, kind)
        self.written: Set[str] = set()  # by the shaders
        self.floats: Dict[str, Set[int]] = {}  # bits of a buffer's floats
        self.constants: Dict[str, Constant] = {}
        self.constants_size = 0
        for stage, module in modules.items():
            self.stages |= STAGES[stage]
            for b in module.bindings:
                self.bindings[b.name] = (b.number, b.kind)
                self.floats.setdefault(b.name, set()).update(b.floats)
                if b.writes:
                    self.written.add(b.name)
            self.constants.update(module.constants)
            self.constants_size = max(self.constants_size, module.constants_size)
        self.numbers = dict(sorted(self.bindings.values()))
        layouts = _array(d.VkDescriptorSetLayoutBinding, [
            d.VkDescriptorSetLayoutBinding(n, kind, 1, self.stages) for n, kind in self.numbers.items()])
        f, home = self.functions, gpu._open_home()
        self.sets = home.make("DescriptorSetLayout", d.VkDescriptorSetLayoutCreateInfo(
            bindingCount=len(self.numbers), pBindings=ctypes.addressof(layouts)), None)
        sets = _array(c_void_p, [self.sets])
        constants = d.VkPushConstantRange(self.stages, 0, (self.constants_size + 3) // 4 * 4)
        self.layout = home.make("PipelineLayout", d.VkPipelineLayoutCreateInfo(
            setLayoutCount=1, pSetLayouts=ctypes.addressof(sets), pushConstantRangeCount=int(self.constants_size > 0),
            pPushConstantRanges=ctypes.addressof(constants)), None)
        self.pipeline = 0
        properties = d.VkPhysicalDeviceProperties()
        f.vkGetPhysicalDeviceProperties(gpu.physical_device, properties)
        self.align = properties.limits.minStorageBufferOffsetAlignment
        self.most = list(properties.limits.maxComputeWorkGroupCount)

    def __repr__(self) -> str:
        return told(self, self.closed, self._told())

    def _told(self) -> Iterator[str]:
        yield f"takes {', '.join([*self.bindings, *self.constants]) or 'nothing'}"
        yield f"on {self.gpu.device.name!r}"

    @property
    def closed(self) -> bool:
        return not self.layout or self.gpu.closed

    def _need(self, gpu: Context) -> None:
        if self.closed:
            raise ValueError(f"this {type(self).__name__} is closed")
        if gpu.handle != self.gpu.handle:
            raise ValueError(f"this {type(self).__name__} is of another VkDevice than the target")

    def stage_infos(self, modules: Dict[str, Module]) -> "Tuple[ctypes.Array[Any], List[Any]]":
        name = ctypes.create_string_buffer(b"main")
        infos: List[Any] = []
        kept: List[Any] = [name]
        for stage, module in modules.items():
            words = ctypes.create_string_buffer(module.code, len(module.code))
            made = self.gpu._open_home().make("ShaderModule", d.VkShaderModuleCreateInfo(
                codeSize=len(module.code), pCode=ctypes.addressof(words)), None)
            kept.append(made)
            infos.append(d.VkPipelineShaderStageCreateInfo(stage=STAGES[stage], module=made, pName=ctypes.addressof(name)))
        return _array(d.VkPipelineShaderStageCreateInfo, infos), kept

    def free_stages(self, kept: List[Any]) -> None:
        for module in kept[1:]:
            self.gpu._open_home().drop("ShaderModule", module)

    def sort(self, values: Dict[str, Any]) -> "Tuple[Dict[int, Part], Dict[int, Target], bytes]":
        """What was given by name: parts of memory, images, and push constants. Every binding must be given."""
        queue = _Queue.of(self.gpu)
        buffers: Dict[int, Part] = {}
        images: Dict[int, Target] = {}
        constants: Dict[str, Any] = {}
        given = {self.bindings[name][0] for name in values if name in self.bindings}
        for name in values:
            if name not in self.bindings and name not in self.constants:
                raise TypeError(f"the shaders have no {name}; they have "
                                f"{', '.join([*self.bindings, *self.constants]) or 'no inputs'}")
        missing = [n for n in self.numbers if n not in given]
        if missing:
            raise TypeError("not given: " + ", ".join(" or ".join(n for n, (at, _) in self.bindings.items() if at == m)
                                                      for m in missing))
        for name, value in values.items():
            if name in self.bindings:
                number, kind = self.bindings[name]
                if kind == d.VK_DESCRIPTOR_TYPE_STORAGE_IMAGE:
                    if not isinstance(value, Target):
                        raise TypeError(f"{name} is an image, and {type(value).__name__} is none: pass a draw.Target")
                    value._need(self.gpu)
                    images[number] = value
                    continue
                try:
                    self._look(value, name)
                    part = queue.part(value)
                except Error as e:
                    raise e.about(name, f". {HOSTS}: {COPY}" if _is_unknown(e, value) else "") from None
                except (TypeError, ValueError) as e:
                    raise type(e)(f"{name}: {e}") from None
                if part.offset % self.align:
                    raise ValueError(f"{name} begins {part.offset} bytes into its VkBuffer, and this GPU wants a multiple of "
                                     f"{self.align}: copy it to a tensor of its own (clone())")
                buffers[number] = part
            else:
                constants[name] = value
        return buffers, images, packed(self.constants, (self.constants_size + 3) // 4 * 4, constants)

    def _look(self, value: Any, name: str) -> None:
        """A shader takes the elements one behind the other, in the machine's byte order, and floats as it declares them."""
        if isinstance(value, AdoptedBuffer):
            seen = value.layout_of.seen if value.layout_of is not None else None
        else:
            seen = None if isinstance(value, (Part, TensorSource)) else look(value)
        if seen is not None:
            seen.require(contiguous=True, writable=name in self.written)
            floats = self.floats[name]
            if seen.typestr[1] == "f" and floats and seen.size * 8 not in floats:
                raise TypeError(f"the tensor {seen.shape} has floats of {seen.size * 8} bits, and the shader's buffer has floats of "
                                f"{' and '.join(map(str, sorted(floats)))}: pass a tensor of float{min(floats)}")

    def bind(self, commands: int, point: int, buffers: Dict[int, Part], images: "Dict[int, Target]",
             constants: bytes) -> int:
        """Returns the descriptor pool, which goes when the submission has ended."""
        f, gpu, pool = self.functions, self.gpu, 0
        f.vkCmdBindPipeline(commands, point, self.pipeline)
        if self.numbers:
            kinds = list(self.numbers.values())
            sizes = _array(d.VkDescriptorPoolSize, [d.VkDescriptorPoolSize(k, kinds.count(k)) for k in dict.fromkeys(kinds)])
            pool = gpu._open_home().make("DescriptorPool", d.VkDescriptorPoolCreateInfo(
                maxSets=1, poolSizeCount=len(dict.fromkeys(kinds)), pPoolSizes=ctypes.addressof(sizes)), None)
            layouts = _array(c_void_p, [self.sets])
            made = f.make("vkAllocateDescriptorSets", gpu.handle, d.VkDescriptorSetAllocateInfo(
                descriptorPool=pool, descriptorSetCount=1, pSetLayouts=ctypes.addressof(layouts)))
            writes: List[Any] = []
            kept: List[Any] = []
            for number, kind in self.numbers.items():
                if number in buffers:
                    kept.append(d.VkDescriptorBufferInfo(*buffers[number]))
                    what = {"pBufferInfo": ctypes.addressof(kept[-1])}
                else:
                    kept.append(d.VkDescriptorImageInfo(imageView=images[number].view, imageLayout=d.VK_IMAGE_LAYOUT_GENERAL))
                    what = {"pImageInfo": ctypes.addressof(kept[-1])}
                writes.append(d.VkWriteDescriptorSet(dstSet=made, dstBinding=number, descriptorCount=1, descriptorType=kind,
                                                     **what))
            f.vkUpdateDescriptorSets(gpu.handle, len(writes), _array(d.VkWriteDescriptorSet, writes), 0, None)
            f.vkCmdBindDescriptorSets(commands, point, self.layout, 0, 1, _array(c_void_p, [made]), 0, None)
        if constants:
            f.vkCmdPushConstants(commands, self.layout, self.stages, 0, len(constants), constants)
        return pool

    @_one_at_a_time
    def close(self) -> None:
        """Waits for what was submitted with it."""
        gpu = self.gpu
        if process.forked or self.closed:
            return
        home = gpu._open_home()
        home.settle(f"{type(self).__name__}.close")
        _Queue.of(gpu).collect()
        all_of_it = (("Pipeline", self.pipeline), ("PipelineLayout", self.layout), ("DescriptorSetLayout", self.sets))
        self.pipeline = self.layout = self.sets = 0
        for kind, made in all_of_it:
            home.drop(kind, made)


class Compute(_Bound):
    """A compute shader: `blur(groups=(8, 8), source=a, result=b, radius=3.0)`."""

    def __init__(self, gpu: Context, shader: Union[str, bytes]):
        module = Module(compiled(shader, "comp"))
        super().__init__(gpu, {"comp": module})
        self.local_size = module.local_size
        infos, kept = self.stage_infos({"comp": module})
        try:
            self.pipeline = gpu._open_home().make("Pipeline", None, 1, d.VkComputePipelineCreateInfo(
                stage=infos[0], layout=self.layout), None, call="vkCreateComputePipelines")
        finally:
            self.free_stages(kept)

    @_one_at_a_time
    def __call__(self, groups: Sequence[int] = (1,), stream: StreamLike = None, **inputs: Any) -> None:
        """Runs this many groups of local_size threads, on what is given by name."""
        self._need(self.gpu)
        x, y, z = (_whole("groups", n, most) for n, most in zip((*groups, 1, 1) if len(groups) < 3 else groups, self.most))
        if len(groups) > 3:
            raise ValueError(f"groups={groups!r}: one to three numbers")
        buffers, images, constants = self.sort(inputs)
        queue = _Queue.of(self.gpu)
        commands = queue.begin()
        queue.barriers(commands, list(buffers.values()), True, [i.acquire() for i in images.values()])
        pool = self.bind(commands, d.VK_PIPELINE_BIND_POINT_COMPUTE, buffers, images, constants)
        self.functions.vkCmdDispatch(commands, x, y, z)
        queue.barriers(commands, list(buffers.values()), False)
        queue.submit(commands, pool, stream, (self, inputs))


class Pipeline(_Bound):
    """A vertex and a fragment shader. Vertices are read from buffers by gl_VertexIndex. topology: "points", "lines",
    "line strip", "triangles", "triangle strip"; blend: "none", "alpha", "add"."""

    def __init__(self, gpu: Context, vertex: Union[str, bytes], fragment: Union[str, bytes], *,
                 topology: str = "triangles", blend: str = "none", format: int = d.VK_FORMAT_R8G8B8A8_UNORM):
        if topology not in _TOPOLOGIES or blend not in _BLENDS:
            raise ValueError(f"topology is one of {', '.join(_TOPOLOGIES)}; blend one of {', '.join(_BLENDS)}")
        modules = {"vert": Module(compiled(vertex, "vert")), "frag": Module(compiled(fragment, "frag"))}
        super().__init__(gpu, modules)
        self.format = format
        infos, kept = self.stage_infos(modules)
        try:
            self.pipeline = self._make(infos, topology, _BLENDS[blend])
        finally:
            self.free_stages(kept)

    def _make(self, infos: "ctypes.Array[Any]", topology: str, blend: Optional[Tuple[int, int]]) -> int:
        at = ctypes.addressof
        inputs = d.VkPipelineVertexInputStateCreateInfo()
        assembly = d.VkPipelineInputAssemblyStateCreateInfo(topology=_TOPOLOGIES[topology])
        viewport = d.VkPipelineViewportStateCreateInfo(viewportCount=1, scissorCount=1)
        raster = d.VkPipelineRasterizationStateCreateInfo(polygonMode=d.VK_POLYGON_MODE_FILL, lineWidth=1)
        samples = d.VkPipelineMultisampleStateCreateInfo(rasterizationSamples=d.VK_SAMPLE_COUNT_1_BIT)
        attachment = d.VkPipelineColorBlendAttachmentState(colorWriteMask=_COLORS)
        if blend is not None:
            attachment.blendEnable = 1
            attachment.srcColorBlendFactor, attachment.dstColorBlendFactor = blend
            attachment.srcAlphaBlendFactor, attachment.dstAlphaBlendFactor = _ONE, blend[1]
        blending = d.VkPipelineColorBlendStateCreateInfo(attachmentCount=1, pAttachments=at(attachment))
        states = _array(ctypes.c_int, [d.VK_DYNAMIC_STATE_VIEWPORT, d.VK_DYNAMIC_STATE_SCISSOR])
        dynamic = d.VkPipelineDynamicStateCreateInfo(dynamicStateCount=2, pDynamicStates=at(states))
        formats = _array(ctypes.c_int, [self.format])
        rendering = d.VkPipelineRenderingCreateInfo(colorAttachmentCount=1, pColorAttachmentFormats=at(formats))
        return self.gpu._open_home().make("Pipeline", None, 1, d.VkGraphicsPipelineCreateInfo(
            pNext=at(rendering), stageCount=2, pStages=at(infos), pVertexInputState=at(inputs),
            pInputAssemblyState=at(assembly), pViewportState=at(viewport), pRasterizationState=at(raster),
            pMultisampleState=at(samples), pColorBlendState=at(blending), pDynamicState=at(dynamic), layout=self.layout), None, call="vkCreateGraphicsPipelines")


class Target(Closing):
    """A picture to draw to: RGBA, 8 bits each, `height` rows from top to bottom."""

    def __init__(self, gpu: Context, width: int, height: int):
        self.gpu, self.width, self.height, self.functions = gpu, width, height, gpu.functions
        self.view = 0
        with gpu._open_home().lock:  # nobody closes one of them before the others are there
            self._make(gpu, width, height)

    def _make(self, gpu: Context, width: int, height: int) -> None:
        self.image: VulkanImage = gpu.vk.image(
            d.VK_FORMAT_R8G8B8A8_UNORM, width, height, usage=d.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
            d.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | d.VK_IMAGE_USAGE_TRANSFER_DST_BIT | d.VK_IMAGE_USAGE_STORAGE_BIT |
            d.VK_IMAGE_USAGE_SAMPLED_BIT,
            # Another GPU's CUDA cannot map an image; tensor() reads a buffer, which it can.
            fallback=d.culv_fallback.CULV_FALLBACK_ANY if gpu._crosses else None)
        self._pixels = gpu.vk.buffer(width * height * 4)
        whole = d.VkImageSubresourceRange(d.VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1)
        self.view = gpu._open_home().make("ImageView", d.VkImageViewCreateInfo(
            image=self.image.handle, viewType=d.VK_IMAGE_VIEW_TYPE_2D, format=d.VK_FORMAT_R8G8B8A8_UNORM,
            subresourceRange=whole), None)
        self._layout = d.VK_IMAGE_LAYOUT_UNDEFINED

    def __repr__(self) -> str:
        return told(self, self.closed, [f"{self.width} x {self.height}", f"on {self.gpu.device.name!r}"])

    @property
    def closed(self) -> bool:
        return not self.view or self.image.closed

    def _need(self, gpu: Context) -> None:
        if self.closed or self._pixels.closed:
            raise ValueError("this Target is closed")
        if gpu.handle != self.gpu.handle:
            raise ValueError("this Target is of another VkDevice than the shader")

    def acquire(self, layout: int = d.VK_IMAGE_LAYOUT_GENERAL) -> d.VkImageMemoryBarrier2:
        """The barrier before the next use. All uses here are in GENERAL."""
        old, self._layout = self._layout, layout
        return d.VkImageMemoryBarrier2(
            srcStageMask=_ALL, srcAccessMask=_EVERYTHING, dstStageMask=_ALL, dstAccessMask=_EVERYTHING, oldLayout=old,
            newLayout=layout, srcQueueFamilyIndex=d.VK_QUEUE_FAMILY_IGNORED,
            dstQueueFamilyIndex=d.VK_QUEUE_FAMILY_IGNORED, image=self.image.handle,
            subresourceRange=d.VkImageSubresourceRange(d.VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1))

    @_one_at_a_time
    def draw(self, pipeline: Pipeline, vertices: int, instances: int = 1,
             clear: Optional[Sequence[float]] = None, stream: StreamLike = None, **inputs: Any) -> None:
        """Draws vertices, on a background of the colour `clear` (red, green, blue, alpha, 0 to 1), or on what is there."""
        self._need(self.gpu)
        pipeline._need(self.gpu)
        vertices, instances = _whole("vertices", vertices), _whole("instances", instances)
        if clear is not None and len(clear) != 4:
            raise ValueError(f"clear={clear!r}: red, green, blue and alpha")
        f, queue = self.functions, _Queue.of(self.gpu)
        buffers, images, constants = pipeline.sort(inputs)
        if clear is None and self._layout == d.VK_IMAGE_LAYOUT_UNDEFINED:
            clear = (0, 0, 0, 0)
        commands = queue.begin()
        queue.barriers(commands, list(buffers.values()), True, [i.acquire() for i in {self, *images.values()}])
        color = d.VkRenderingAttachmentInfo(
            imageView=self.view, imageLayout=d.VK_IMAGE_LAYOUT_GENERAL, storeOp=d.VK_ATTACHMENT_STORE_OP_STORE,
            loadOp=d.VK_ATTACHMENT_LOAD_OP_LOAD if clear is None else d.VK_ATTACHMENT_LOAD_OP_CLEAR)
        if clear is not None:
            color.clearValue.color.float32[:] = list(clear)
        area = d.VkRect2D(d.VkOffset2D(0, 0), d.VkExtent2D(self.width, self.height))
        f.vkCmdBeginRendering(commands, d.VkRenderingInfo(renderArea=area, layerCount=1, colorAttachmentCount=1,
                                                          pColorAttachments=ctypes.addressof(color)))
        f.vkCmdSetViewport(commands, 0, 1, d.VkViewport(0, 0, self.width, self.height, 0, 1))
        f.vkCmdSetScissor(commands, 0, 1, area)
        pool = pipeline.bind(commands, d.VK_PIPELINE_BIND_POINT_GRAPHICS, buffers, images, constants)
        f.vkCmdDraw(commands, vertices, instances, 0, 0)
        f.vkCmdEndRendering(commands)
        queue.barriers(commands, list(buffers.values()), False)
        queue.submit(commands, pool, stream, (self, pipeline, inputs))

    @_one_at_a_time
    def tensor(self, stream: StreamLike = None) -> Tensor:
        """The picture as height x width x 4 bytes, in memory of both sides. The next call writes it again."""
        self._need(self.gpu)
        queue = _Queue.of(self.gpu)
        commands = queue.begin()
        queue.barriers(commands, [Part(self._pixels.handle, 0, 0)], True, [self.acquire()])
        layers = d.VkImageSubresourceLayers(d.VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1)
        self.functions.vkCmdCopyImageToBuffer(
            commands, self.image.handle, d.VK_IMAGE_LAYOUT_GENERAL, self._pixels.handle, 1,
            d.VkBufferImageCopy(0, 0, 0, layers, d.VkOffset3D(), d.VkExtent3D(self.width, self.height, 1)))
        queue.barriers(commands, [Part(self._pixels.handle, 0, 0)], False)
        queue.submit(commands, 0, stream, self)
        return self._pixels.tensor("uint8", (self.height, self.width, 4), stream=stream)

    @_one_at_a_time
    def read(self, stream: StreamLike = None) -> bytes:
        """The picture's bytes, on the host."""
        self.tensor(stream)
        self.gpu._open_home().wait(self.gpu._open_home().PATIENCE, "Target.read")
        device, out = self.gpu.device, ctypes.create_string_buffer(self.width * self.height * 4)
        device.make_current()
        device.cuda.cuMemcpyDtoH(out, self._pixels.pointer, len(out))
        return out.raw

    def png(self, stream: StreamLike = None) -> bytes:
        return png(self.read(stream), self.width, self.height)

    def save(self, path: Path) -> None:
        """A PNG."""
        check_png(path)
        picture = self.png()
        with open(path, "wb") as f:
            f.write(picture)

    def _repr_png_(self) -> bytes:
        """In a notebook the picture shows itself."""
        return self.png()

    @_one_at_a_time
    def close(self) -> None:
        if process.forked or self._pixels.closed or self.gpu.closed:
            return
        self.gpu._open_home().settle("Target.close")
        view, self.view = self.view, 0
        self.gpu._open_home().drop("ImageView", view)
        self.image.close()
        self._pixels.close()


def check_png(path: Path) -> None:
    """Refuses a file's name that promises another kind of picture."""
    kind = os.path.splitext(os.fspath(path))[1].lower()
    if kind in (".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".exr", ".hdr", ".tga", ".svg", ".pdf"):
        raise ValueError(f"{os.fspath(path)}: Culvert writes PNG files; name it .png, or hand read()'s bytes to a library of pictures")


def png(rgba: bytes, width: int, height: int) -> bytes:
    """RGBA bytes as a PNG file."""
    rows = b"".join(b"\0" + rgba[y * width * 4:(y + 1) * width * 4] for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


