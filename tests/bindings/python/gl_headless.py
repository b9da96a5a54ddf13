# SPDX-License-Identifier: MIT
"""OpenGL contexts without a screen by EGL, and what the tests call of OpenGL."""
import ctypes
from ctypes import c_char_p, c_int, c_ssize_t, c_uint, c_void_p

from culvert import gl

EGL_NONE = 0x3038
FUNCTIONS = {
    "glFinish": (None,), "glCreateBuffers": (None, c_int, c_void_p), "glDeleteBuffers": (None, c_int, c_void_p),
    "glNamedBufferData": (None, c_uint, c_ssize_t, c_void_p, c_uint),
    "glNamedBufferSubData": (None, c_uint, c_ssize_t, c_ssize_t, c_void_p),
    "glGetNamedBufferSubData": (None, c_uint, c_ssize_t, c_ssize_t, c_void_p),
    "glCopyNamedBufferSubData": (None, c_uint, c_uint, c_ssize_t, c_ssize_t, c_ssize_t),
    "glCreateTextures": (None, c_uint, c_int, c_void_p), "glDeleteTextures": (None, c_int, c_void_p),
    "glTextureStorage2D": (None, c_uint, c_int, c_uint, c_int, c_int), "glPixelStorei": (None, c_uint, c_int),
    "glGetTextureImage": (None, c_uint, c_int, c_uint, c_uint, c_int, c_void_p), "glGetError": (c_uint,),
}


class Headless:
    """A context of OpenGL 4.5, current on this thread until close(). It is Mesa's without a GPU, or the one of the CUDA
    device of this ordinal. Where there is none the RuntimeError says why."""

    def __init__(self, share=None, ordinal=None):
        try:
            self.egl = egl = ctypes.CDLL("libEGL.so.1")
        except OSError as e:
            raise RuntimeError(f"{e} (Debian: libegl1, libegl-mesa0)") from None
        for name, kinds in (("eglGetPlatformDisplay", (c_void_p, c_uint, c_void_p, c_void_p)),
                            ("eglInitialize", (c_uint, c_void_p, c_void_p, c_void_p)), ("eglBindAPI", (c_uint, c_uint)),
                            ("eglCreateContext", (c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
                            ("eglMakeCurrent", (c_uint, c_void_p, c_void_p, c_void_p, c_void_p)),
                            ("eglDestroyContext", (c_uint, c_void_p, c_void_p)),
                            ("eglGetProcAddress", (c_void_p, c_char_p))):
            function = getattr(egl, name)
            function.restype, function.argtypes = kinds[0], kinds[1:]
        if share is not None:
            self.display = share.display
        elif ordinal is None:
            self.display = egl.eglGetPlatformDisplay(0x31dd, None, None)  # EGL_PLATFORM_SURFACELESS_MESA
            if not self.display or not egl.eglInitialize(self.display, None, None):
                raise RuntimeError("EGL has no surfaceless display of Mesa's (Debian: libegl-mesa0, libgl1-mesa-dri)")
        else:
            self.display = self._display_of(ordinal)
        egl.eglBindAPI(0x30a2)
        wanted = (c_int * 7)(0x3098, 4, 0x30fb, 5, 0x30fd, 1, EGL_NONE)
        self.context = egl.eglCreateContext(self.display, None, share and share.context, wanted)
        if not self.context:
            raise RuntimeError("EGL makes no context of OpenGL 4.5")
        self.make_current()

    def _display_of(self, ordinal):
        asks = []
        for name, kinds in (("eglQueryDevicesEXT", (c_uint, c_int, c_void_p, c_void_p)),
                            ("eglQueryDeviceAttribEXT", (c_uint, c_void_p, c_int, c_void_p))):
            address = self.egl.eglGetProcAddress(name.encode())
            if not address:
                raise RuntimeError(f"EGL has no {name}")
            asks.append(ctypes.CFUNCTYPE(*kinds)(address))
        devices, count, number = (c_void_p * 32)(), c_int(), c_ssize_t()
        asks[0](32, devices, ctypes.byref(count))
        for device in devices[:count.value]:
            if asks[1](device, 0x323a, ctypes.byref(number)) and number.value == ordinal:  # EGL_CUDA_DEVICE_NV
                display = self.egl.eglGetPlatformDisplay(0x313f, device, None)  # EGL_PLATFORM_DEVICE_EXT
                if display and self.egl.eglInitialize(display, None, None):
                    return display
                raise RuntimeError(f"EGL opens no display on CUDA's device {ordinal}")
        raise RuntimeError(f"none of EGL's {count.value} devices is CUDA's device {ordinal} (NVIDIA's libEGL_nvidia.so.0, and "
                           "its file in egl_vendor.d)")

    def make_current(self):
        self.egl.eglBindAPI(0x30a2)
        assert self.egl.eglMakeCurrent(self.display, None, None, self.context)

    def release(self):
        self.egl.eglMakeCurrent(self.display, None, None, None)

    def close(self):
        self.release()
        self.egl.eglDestroyContext(self.display, self.context)

    def __getattr__(self, name):
        if name not in FUNCTIONS:
            raise AttributeError(name)
        made = gl.function(name, *FUNCTIONS[name])
        setattr(self, name, made)
        return made

    def buffer(self, size, data=None):
        name = c_uint()
        self.glCreateBuffers(1, ctypes.byref(name))
        self.glNamedBufferData(name.value, size, data, 0x88e4)  # GL_STATIC_DRAW
        return name.value

    def delete_buffer(self, name):
        self.glDeleteBuffers(1, ctypes.byref(c_uint(name)))

    def texture(self, internal_format, width, height):
        name = c_uint()
        self.glCreateTextures(0x0de1, 1, ctypes.byref(name))
        self.glTextureStorage2D(name.value, 1, internal_format, width, height)
        return name.value

    def read_buffer(self, name, size):
        """By a buffer between: drivers may answer from a copy that they keep of a shared one."""
        out = ctypes.create_string_buffer(size)
        mine = self.buffer(size)
        self.glCopyNamedBufferSubData(name, mine, 0, 0, size)
        self.glGetNamedBufferSubData(mine, 0, size, out)
        self.delete_buffer(mine)
        assert self.glGetError() == 0
        return out.raw

    def read_texture(self, name, size, format, kind):
        out = ctypes.create_string_buffer(size)
        self.glPixelStorei(0x0d05, 1)  # GL_PACK_ALIGNMENT
        self.glGetTextureImage(name, 0, format, kind, size, out)
        assert self.glGetError() == 0
        return out.raw
