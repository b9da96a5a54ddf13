# SPDX-License-Identifier: MIT
"""The library: where it is, its functions, and its errors as exceptions."""
import atexit
import ctypes
import os
import pathlib
import sys
import sysconfig
import weakref
from ctypes import byref, c_void_p

from . import _declarations as d


class Error(Exception):
    """A call of Culvert failed. str() is the library's message, which says what to do."""

    result: "d.culv_result"
    reason: str
    native_api: "d.culv_native_api"
    native_code: int
    native_call: str
    message: str

    def __init__(self, error: "d.culv_error", call: str):
        self.call = call
        self.result = d.culv_result(error.result)
        try:
            self.reason = d.culv_reason(error.reason).name[len("CULV_REASON_"):]
        except ValueError:  # a later library's
            self.reason = str(error.reason)
        self.native_api = d.culv_native_api(error.native_api)
        self.native_code = error.native_code
        self.native_call = error.native_call.decode()
        self.message = error.message.decode(errors="replace")
        super().__init__(f"{self.message} [{self.result.name[len('CULV_'):]}, {self.reason}, {call}]")


class InvalidError(Error, ValueError):
    """The call is wrong. Nothing has changed."""


class BusyError(Error):
    """The call comes too early: something still uses the object."""


class LateError(Error, TimeoutError):
    """The other side is late (CULV_ERROR_TIMEOUT)."""


class UnsupportedError(Error):
    """This machine, driver or build cannot do it."""


class NoDeviceError(Error):
    """None of the CUDA devices is the graphics device that was asked for."""


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted."""


class DriverError(Error):
    """CUDA or the graphics API refused the call."""


class AsyncError(Error):
    """An earlier asynchronous failure surfaced in this call."""


class InternalError(Error):
    """A defect in Culvert: please report it."""


_CLASSES = {-1: InvalidError, -2: BusyError, -3: LateError, -10: UnsupportedError, -11: NoDeviceError,
            -12: OutOfMemoryError, -20: DriverError, -21: AsyncError, -30: InternalError}


def _load() -> ctypes.CDLL:
    """CULVERT_LIBRARY, the library in the wheel, that of the same prefix, or the system's."""
    name = "culvert.dll" if sys.platform == "win32" else "libculvert.so.0"
    package = pathlib.Path(__file__).resolve().parent
    places = [package / "lib"]
    if len(package.parents) > 2:  # PREFIX/lib/python3/dist-packages/culvert
        places += [package.parents[2], package.parents[2] / (sysconfig.get_config_var("MULTIARCH") or "lib")]
    there = [str(place / name) for place in places if (place / name).exists()]
    path = os.environ.get("CULVERT_LIBRARY") or (there[0] if there else name)
    try:
        return ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"culvert: {name} could not be loaded ({e}). Install the wheel that carries it or Debian's "
                          "libculvert0, or set CULVERT_LIBRARY to the file") from None


library = _load()
library.culv_last_error.argtypes = [c_void_p]
library.culv_last_error.restype = None


def last_error(call: str) -> Error:
    e = d.culv_error(struct_size=ctypes.sizeof(d.culv_error))
    library.culv_last_error(byref(e))
    return _CLASSES.get(e.result, Error)(e, call)


class Api:
    """Every function of the C API by its name. An error is an exception; a descriptor may be passed as it is, and
    what a call writes is passed with ctypes.byref(). help() of a function is what the header says of it."""

    def __getattr__(self, name: str):
        try:
            result, parameters, doc = d.FUNCTIONS[name]
        except KeyError:
            raise AttributeError(f"Culvert has no function {name}") from None
        try:
            raw = getattr(library, name)
        except AttributeError:
            raise AttributeError(f"this build of libculvert has no {name}") from None
        raw.argtypes = [t for _, t in parameters]
        checks = result is d.culv_result
        raw.restype = ctypes.c_int if checks else result

        def call(*args):
            try:
                answer = raw(*args)
            except ctypes.ArgumentError:  # nothing was called: a struct for a pointer to it, or text
                answer = raw(*[byref(a) if isinstance(a, (ctypes.Structure, ctypes.Union)) else
                               a.encode() if isinstance(a, str) else a for a in args])
            if not checks:
                return answer
            if answer != 0:
                raise last_error(name)
            return None

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"{name}({', '.join(n for n, _ in parameters)})\n\n{doc}"
        call.raw = raw
        setattr(self, name, call)
        return call

    def __dir__(self):
        return sorted(d.FUNCTIONS)


api = Api()


_templates = {}  # of a kind of descriptor: (its bytes as _init() makes them, the types of its fields)


def _template(kind):
    made = kind()
    if hasattr(made, "struct_size"):
        made.struct_size = ctypes.sizeof(kind)
    for path, value in d.INITIAL.get(kind.__name__, {}).items():
        *outer, name = path.split(".")
        inner = made
        for part in outer:
            inner = getattr(inner, part)
        setattr(inner, name, ctypes.sizeof(inner) if value == "sizeof" else value)
    _templates[kind] = there = (bytes(made), dict(kind._fields_))
    return there


def describe(kind, **fields):
    """A descriptor as its _init() makes it, with these fields. It keeps what it points to."""
    template, types = _templates.get(kind) or _template(kind)
    made = kind.from_buffer_copy(template)
    made.kept = []
    for name, value in fields.items():
        if name not in types:
            raise TypeError(f"{kind.__name__} has no field {name}; it has {', '.join(types)}")
        if value is None:
            continue
        if isinstance(value, str):
            value = value.encode()
        elif types[name] is c_void_p and not isinstance(value, int):
            made.kept.append(value)
            value = ctypes.addressof(value) if isinstance(value, (ctypes.Structure, ctypes.Array)) else handle(value)
        setattr(made, name, value)
    return made


def _make(function: str, *args) -> int:
    out = c_void_p()
    getattr(api, function)(*args, byref(out))
    return out.value or 0


def handle(value) -> int:
    """The number of somebody's handle: an int, a ctypes pointer, a cffi pointer (of the package `vulkan`), or an
    object of Culvert's."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    inner = getattr(value, "_as_parameter_", value)
    if isinstance(inner, int):
        return inner
    if isinstance(inner, ctypes._SimpleCData):
        return inner.value or 0
    if isinstance(inner, (ctypes._Pointer, ctypes._CFuncPtr)):
        return ctypes.cast(inner, c_void_p).value or 0
    if type(inner).__module__ == "_cffi_backend":
        import _cffi_backend
        return int(_cffi_backend.FFI().cast("uintptr_t", inner))
    raise TypeError(f"{value!r} is no handle: pass its number")


def stream_handle(stream) -> int:
    """The number of a CUDA stream: None (the legacy default stream), an int, Culvert's own, PyTorch's, CuPy's, or any
    with __cuda_stream__."""
    if stream is None:
        return 0
    if type(stream) is int:
        return stream
    if hasattr(stream, "__cuda_stream__"):
        said = stream.__cuda_stream__
        return int((said() if callable(said) else said)[1])
    for name in ("cuda_stream", "ptr"):
        number = getattr(stream, name, None)
        if isinstance(number, int):
            return number
    return handle(stream)


class Owned:
    """Something of Culvert's that is given back by close(), at the end of a `with` block, or with its parent."""

    _destroy = ""  # the C function, which takes a pointer to the pointer

    def __init__(self, parent, pointer: int):
        self._parent = parent
        self._children = weakref.WeakSet()
        self._as_parameter_ = c_void_p(pointer)
        (parent._children if parent is not None else _roots).add(self)

    def _close_children(self):
        for child in list(self._children):
            child.close()

    @property
    def closed(self) -> bool:
        return not self._as_parameter_

    def close(self, after=None) -> None:
        """Gives the object back. With `after`, a CUDA stream, it is released when the stream has done what was
        submitted to it so far, and the call does not wait (where the C API has a ..._after() form)."""
        if self.closed:
            return
        self._close_children()
        pointer = c_void_p(self._as_parameter_.value)
        if after is not None:
            getattr(api, self._destroy + "_after")(byref(pointer), stream_handle(after))
        else:
            getattr(api, self._destroy)(byref(pointer))
        self._as_parameter_ = c_void_p(pointer.value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_as_parameter_", None) and not sys.is_finalizing():
            self.close()

    def _need(self):
        if self.closed:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._as_parameter_


_roots: "weakref.WeakSet[Owned]" = weakref.WeakSet()


@atexit.register
def _close_roots():
    for root in list(_roots):
        root.close()
