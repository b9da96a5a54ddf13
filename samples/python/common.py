# SPDX-License-Identifier: MIT
"""What the samples share: a compute shader that paints buffers, and PNG files."""
import argparse
import contextlib
import ctypes
import hashlib
import importlib
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

from culvert import vulkan as vk

HERE = pathlib.Path(__file__).resolve().parent


def compile_shader(source):
    """SPIR-V of a compute shader: what `common.py DIR` left in shaders/, or by glslangValidator (Debian: glslang-tools)."""
    ready = HERE / "shaders" / (hashlib.sha256(source.encode()).hexdigest()[:16] + ".spv")
    if ready.exists():
        return ready.read_bytes()
    with tempfile.TemporaryDirectory() as room:
        with open(f"{room}/paint.comp", "w") as f:
            f.write(source)
        subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.2", "-o", f"{room}/paint.spv",
                        f"{room}/paint.comp"], check=True, stdout=subprocess.DEVNULL)
        with open(f"{room}/paint.spv", "rb") as f:
            return f.read()


HEAD = """#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(push_constant) uniform Push { uvec4 offset; uvec2 size; float time; } push;
layout(binding = 0, std430) writeonly buffer Pixels { uint pixels[]; };
"""


def write_png(path, rgba, width, height):
    rows = b"".join(b"\0" + rgba[y * width * 4:(y + 1) * width * 4] for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Painter:
    """Runs a compute shader over width x height pixels. Binding 0 is the picture; 1, 2 ... are the inputs: objects with
    `handle` and `size`, or (VkBuffer, offset in bytes, size). A storage buffer begins at a multiple of 256 bytes here,
    and push.offset[i] is how many words of input i lie before its beginning."""

    def __init__(self, gpu, source, width, height, inputs):
        self.gpu, self.width, self.height, f = gpu, width, height, gpu.functions
        self.picture = gpu.vk.buffer(width * height * 4)
        parts = [i if isinstance(i, tuple) else (i.handle, 0, i.size) for i in inputs]
        self.buffers = [self.picture.handle] + [p[0] for p in parts]
        begin = [p[1] & ~255 for p in parts]
        push = struct.pack("4I", *([(p[1] - b) // 4 for p, b in zip(parts, begin)] + [0] * 4)[:4]) + struct.pack("2I", width, height)
        code = compile_shader(HEAD + source)
        words = ctypes.create_string_buffer(code, len(code))
        self.module = f.make("vkCreateShaderModule", gpu.handle, vk.VkShaderModuleCreateInfo(
            codeSize=len(code), pCode=ctypes.addressof(words)), None)
        n = len(self.buffers)
        bindings = (vk.VkDescriptorSetLayoutBinding * n)(*[vk.VkDescriptorSetLayoutBinding(
            i, vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, vk.VK_SHADER_STAGE_COMPUTE_BIT) for i in range(n)])
        self.sets = f.make("vkCreateDescriptorSetLayout", gpu.handle, vk.VkDescriptorSetLayoutCreateInfo(
            bindingCount=n, pBindings=ctypes.addressof(bindings)), None)
        sets, constants = c_array(ctypes.c_void_p, self.sets), vk.VkPushConstantRange(32, 0, 28)
        self.layout = f.make("vkCreatePipelineLayout", gpu.handle, vk.VkPipelineLayoutCreateInfo(
            setLayoutCount=1, pSetLayouts=ctypes.addressof(sets), pushConstantRangeCount=1,
            pPushConstantRanges=ctypes.addressof(constants)), None)
        name = ctypes.create_string_buffer(b"main")
        info = vk.VkComputePipelineCreateInfo(layout=self.layout)
        info.stage = vk.VkPipelineShaderStageCreateInfo(stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=self.module,
                                                        pName=ctypes.addressof(name))
        self.pipeline = f.make("vkCreateComputePipelines", gpu.handle, None, 1, info, None)
        size = vk.VkDescriptorPoolSize(vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, n)
        self.pool = f.make("vkCreateDescriptorPool", gpu.handle, vk.VkDescriptorPoolCreateInfo(
            maxSets=1, poolSizeCount=1, pPoolSizes=ctypes.addressof(size)), None)
        self.set = f.make("vkAllocateDescriptorSets", gpu.handle, vk.VkDescriptorSetAllocateInfo(
            descriptorPool=self.pool, descriptorSetCount=1, pSetLayouts=ctypes.addressof(sets)))
        ranges = [(self.picture.handle, 0, self.picture.size)] + [(p[0], b, p[2] + p[1] - b)
                                                                  for p, b in zip(parts, begin)]
        infos = (vk.VkDescriptorBufferInfo * n)(*[vk.VkDescriptorBufferInfo(*r) for r in ranges])
        writes = (vk.VkWriteDescriptorSet * n)(*[vk.VkWriteDescriptorSet(
            dstSet=self.set, dstBinding=i, descriptorCount=1, descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            pBufferInfo=ctypes.addressof(infos[i])) for i in range(n)])
        f.vkUpdateDescriptorSets(gpu.handle, n, writes, 0, None)
        self.commands, self.push = gpu.commands(), push

    def paint(self, timeline, wait, signal, time=0.0):
        """Vulkan waits for `wait`, paints, and signals `signal`. The host waits for nothing but the last painting."""
        gpu, f, c = self.gpu, self.gpu.functions, self.commands
        gpu.wait_idle()
        f.vkBeginCommandBuffer(c, vk.VkCommandBufferBeginInfo())
        gpu.barrier(c, [gpu.vk.buffer_transfer(b, gpu.queue_family, True) for b in dict.fromkeys(self.buffers)])
        f.vkCmdBindPipeline(c, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self.pipeline)
        sets = c_array(ctypes.c_void_p, self.set)
        f.vkCmdBindDescriptorSets(c, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self.layout, 0, 1, sets, 0, None)
        push = self.push + struct.pack("f", time)
        f.vkCmdPushConstants(c, self.layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, len(push), push)
        f.vkCmdDispatch(c, (self.width + 7) // 8, (self.height + 7) // 8, 1)
        gpu.barrier(c, [gpu.vk.buffer_transfer(b, gpu.queue_family, False) for b in dict.fromkeys(self.buffers)])
        f.vkEndCommandBuffer(c)
        gpu.submit(c, wait=[(timeline, wait)] if wait else [], signal=[(timeline, signal)])

    def save(self, path):
        """The picture, when the work that was submitted has ended."""
        self.gpu.wait_idle()
        device, pixels = self.gpu.device, ctypes.create_string_buffer(self.picture.size)
        device.make_current()
        device.cuda.cuMemcpyDtoH(pixels, self.picture.pointer, self.picture.size)
        write_png(path, pixels.raw, self.width, self.height)

    def close(self):
        gpu, f = self.gpu, self.gpu.functions
        gpu.wait_idle()
        f.vkDestroyPipeline(gpu.handle, self.pipeline, None)
        f.vkDestroyPipelineLayout(gpu.handle, self.layout, None)
        f.vkDestroyDescriptorPool(gpu.handle, self.pool, None)
        f.vkDestroyDescriptorSetLayout(gpu.handle, self.sets, None)
        f.vkDestroyShaderModule(gpu.handle, self.module, None)
        self.picture.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@contextlib.contextmanager
def opened(options, title):
    """(a Vulkan context, a function that shows a picture and says whether to go on): with a window, or without."""
    if not options.window:
        with vk.open() as gpu:
            yield gpu, lambda picture: True
        return
    from window import Window
    with Window(title, options.size, options.size) as window:
        yield window.gpu, window.show


def arguments(text, out, frames, **more):
    """The options of a sample."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--size", type=int, default=384, help="of the picture, in pixels")
    if frames:
        parser.add_argument("--frames", type=int, default=frames)
    parser.add_argument("--out", default=out, help="the last picture")
    parser.add_argument("--window", action="store_true", help="show it live (PySDL2 or glfw)")
    for name, (default, said) in more.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=said)
    return parser.parse_args()


def c_array(kind, *values):
    return (kind * len(values))(*values)


def array_library():
    """CuPy where there is a GPU and CuPy, else NumPy: (library, a function that makes an array of a tensor)."""
    try:
        import cupy
        if cupy.cuda.runtime.getDeviceCount() > 0:
            return cupy, cupy.from_dlpack
    except Exception:  # noqa: BLE001: no CuPy, no driver, or no device
        pass
    import numpy
    return numpy, numpy.asarray


def shaders(directory):
    """Compiles the samples' shaders, for machines that have no compiler."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in sorted(HERE.glob("*.py")):
        paint = getattr(importlib.import_module(path.stem), "PAINT", None) if path.stem != "common" else None
        if paint is not None:
            name = hashlib.sha256((HEAD + paint).encode()).hexdigest()[:16]
            (directory / f"{name}.spv").write_bytes(compile_shader(HEAD + paint))


if __name__ == "__main__":
    shaders(pathlib.Path(sys.argv[1]))
