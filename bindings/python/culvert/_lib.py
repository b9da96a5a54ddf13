# SPDX-License-Identifier: MIT
"""The library: where it is, its functions, and its errors as exceptions."""
import atexit
import collections
import contextlib
import ctypes
import itertools
import operator
import os
import pathlib
import re
import sys
import sysconfig
import threading
import time
import weakref
from ctypes import byref, c_uint64, c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type, TypeVar

from . import _declarations as d
from ._struct import Structure
from ._types import Handle, StreamLike

if TYPE_CHECKING:
    from .vulkan import _Home

    _ApiFunctions = d._ApiFunctions
    _Reference = weakref.ReferenceType[Any]
else:
    _ApiFunctions = object
    _Reference = weakref.ref


class Error(Exception):
    """A call of Culvert failed. str() is the library's message, which says what to do."""

    result: d.culv_result
    reason: str
    native_api: d.culv_native_api
    native_code: int
    native_call: str
    message: str
    call: str

    def __init__(self, error: d.culv_error, call: str):
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
        super().__init__(self._text())

    def about(self, what: str, more: str = "") -> "Error":
        """The same error, which says of what it is."""
        self.message = f"{what}: {self.message}{more}"
        self.args = (self._text(),)
        return self

    def _text(self) -> str:
        return f"{self.message} [{self.result.name[len('CULV_'):]}, {self.reason}, {self.call}]"

    def __reduce__(self) -> Tuple[Any, ...]:  # other processes get it whole
        return _error_again, (type(self), self.args, self.__dict__)


def _error_again(kind: Type[Error], args: Tuple[Any, ...], fields: Dict[str, Any]) -> Error:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error


class InvalidError(Error, ValueError):
    """The call is wrong. Nothing has changed."""


class BusyError(Error):
    """The call comes too early: something still uses the object."""


class LateError(Error, TimeoutError):
    """The other side is late (CULV_ERROR_TIMEOUT)."""

    def after(self, timeout: int) -> "LateError":
        """Of a wait in slices, whose last one says how long it was itself."""
        self.message = re.sub(r"within \d+ [mn]s", f"within {timeout / 1e9:g} s", self.message)
        self.args = (self._text(),)
        return self


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
    name = "culvert-0.dll" if sys.platform == "win32" else "libculvert.so.0"
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


def _own_error(result: d.culv_result, reason: d.culv_reason, message: str, call: str) -> Error:
    e = d.culv_error(struct_size=ctypes.sizeof(d.culv_error), result=int(result), reason=int(reason),
                     message=message.encode())
    return _CLASSES[e.result](e, call)


def late(message: str, call: str) -> Error:
    """A wait of this package's own that did not end in time."""
    return _own_error(d.culv_result.CULV_ERROR_TIMEOUT, d.culv_reason.CULV_REASON_RING_LATE, message, call)


def busy(message: str, call: str) -> Error:
    return _own_error(d.culv_result.CULV_ERROR_BUSY, d.culv_reason.CULV_REASON_NOT_READY, message, call)


class _Process:
    """A child of fork() has the objects of its parent, and neither CUDA nor Vulkan: it gives nothing back."""
    forked = False
    opened = False  # a device, so that a driver is loaded
    ending = False  # the interpreter's end has begun: nothing is opened any more
    workers: List[int] = []  # the threads that are making or destroying a Vulkan device
    openers: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()
    _lock = threading.RLock()  # a collector that runs under it may end a context, which works()

    @classmethod
    def note_fork(cls) -> None:
        cls.forked, cls.workers, cls._lock = cls.opened, [], threading.RLock()
        if cls.opened:
            end_without_drivers()

    @classmethod
    def check(cls, call: str) -> None:
        """Before a device is opened."""
        if cls.forked:
            raise _own_error(d.culv_result.CULV_ERROR_UNSUPPORTED, d.culv_reason.CULV_REASON_FORKED,
                             "this process is a child of fork(), whose parent had opened a device: no driver works in it. Start "
                             'processes by multiprocessing\'s "spawn", or before the first device is opened', call)
        if cls.ending:
            raise RuntimeError(f"{call}: the interpreter ends, and nothing is opened any more")
        cls.opened = True

    @classmethod
    @contextlib.contextmanager
    def works(cls, opens: str = "") -> Iterator[None]:
        """The block is over when end() returns. `opens` is the call that opens something in it."""
        with cls._lock:
            if opens:
                cls.check(opens)
            cls.workers.append(threading.get_ident())
        try:
            yield
        finally:
            cls.workers.remove(threading.get_ident())

    @classmethod
    def end(cls) -> None:
        """The interpreter ends. A daemon thread that is in a driver while the process exits would see it taken down."""
        with cls._lock:
            if cls.ending:
                return
            cls.ending = True
        until = time.monotonic() + 5
        while any(worker != threading.get_ident() for worker in list(cls.workers)) and time.monotonic() < until:
            time.sleep(0.001)
        if any(cls.goes_on(thread) for thread in list(cls.openers)):
            end_without_drivers()

    @classmethod
    def opener(cls) -> threading.Thread:
        """This thread, which opens something."""
        me = threading.current_thread()
        cls.openers.add(me)
        return me

    @staticmethod
    def goes_on(thread: threading.Thread) -> bool:
        """While the interpreter ends."""
        return thread is not threading.current_thread() and thread.daemon and thread.is_alive()


def end_without_drivers() -> None:
    """The process's end, after all that Python ends and all that is registered later, is _exit(): no handler of a driver's
    runs. In a forked child they wait for threads that fork() did not copy: Mesa's crashes there, and NVIDIA's may spin. Where
    a daemon thread is in a driver they take it down under the thread. Children of multiprocessing end so, too."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit") and hasattr(libc, "__cxa_atexit"):  # glibc
        libc.on_exit(libc._exit, None)
        getattr(libc, "__cxa_atexit")(libc.fflush, None, None)  # what is registered last runs first


class Gate:
    """Who is in a call with something that another thread may close. Its end lets nobody in any more, and waits for those who
    are inside: each call here is short, or waits in slices."""
    __slots__ = ("kind", "inside", "shut_by")
    PATIENCE = 10 * 10**9
    GONE = -1

    def __init__(self, kind: str):
        self.kind = kind
        self.inside: List[int] = []
        self.shut_by = 0  # the thread that ends it, or GONE

    @property
    def is_shut(self) -> bool:
        """For this thread: the one that ends it still works with it."""
        return self.shut_by not in (0, threading.get_ident())

    def enter(self) -> None:
        me = threading.get_ident()
        self.inside.append(me)
        if self.shut_by not in (0, me):
            self.inside.remove(me)
            raise ValueError(f"this {self.kind} is closed")

    def leave(self) -> None:
        self.inside.remove(threading.get_ident())

    def shut(self, call: str) -> None:
        """A thread that was here first raises BusyError if it does not leave. In one thread a KeyboardInterrupt may leave an entry
        behind, and that thread never waits for itself."""
        from ._turns import until
        me = self.shut_by = threading.get_ident()
        try:
            until(lambda: all(thread == me for thread in list(self.inside)), self.PATIENCE, lambda: "", call)
        except LateError:
            raise busy(f"another thread is in a call with this {self.kind}, and does not come back", call) from None


class Pointer(c_void_p):
    """The C object of something that has a gate: calls pass the gate first."""
    gate: Gate


def pointer_behind(gate: Gate, value: int = 0) -> Pointer:
    made = Pointer(value)
    made.gate = gate
    return made


process = _Process()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process.note_fork)


_STRUCTS = (ctypes.Structure, ctypes.Union)
_CONVERTED = (*_STRUCTS, str)


class Api(_ApiFunctions):
    """Every function of the C API by its name. An error is an exception; a descriptor may be passed as it is, and
    what a call writes is passed with ctypes.byref(). help() of a function is what the header says of it."""

    if not TYPE_CHECKING:  # a checker has the functions of the base, and refuses other names
        def __getattr__(self, name: str) -> Any:
            return self._found(name)

    def _found(self, name: str) -> Any:
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

        def call(*args: Any) -> Any:
            passed: List[Gate] = []
            plain = True  # no struct for a pointer to it, and no text: ctypes refuses those, and forgets an interrupt meanwhile
            try:
                for a in args:
                    if a.__class__ is Pointer:
                        a.gate.enter()
                        passed.append(a.gate)
                    elif isinstance(a, _CONVERTED):
                        plain = False
                answer = raw(*args) if plain else raw(*[
                    byref(a) if isinstance(a, _STRUCTS) and not isinstance(a, t) else a.encode() if isinstance(a, str) else a
                    for a, t in zip(args, raw.argtypes)])
            finally:
                for gate in passed:
                    gate.leave()
            if not checks:
                return answer
            if answer != 0:
                raise last_error(name)
            return None

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"{name}({', '.join(n for n, _ in parameters)})\n\n{doc}"
        setattr(call, "raw", raw)
        setattr(self, name, call)
        return call

    def __dir__(self) -> List[str]:
        return sorted(d.FUNCTIONS)

    def __repr__(self) -> str:
        return f"<culvert.api of libculvert {self.culv_version_string().decode()}, {library._name}>"


api = Api()
_Struct = TypeVar("_Struct", bound=Structure)


_templates: Dict[Type[Structure], Tuple[bytes, Dict[str, Any]]] = {}  # of a kind of descriptor: (its bytes as _init() makes them, the types of its fields)


def _template(kind: Type[Structure]) -> Tuple[bytes, Dict[str, Any]]:
    made: Any = kind()
    if hasattr(made, "struct_size"):
        made.struct_size = ctypes.sizeof(kind)
    for path, value in d.INITIAL.get(kind.__name__, {}).items():
        *outer, name = path.split(".")
        inner = made
        for part in outer:
            inner = getattr(inner, part)
        setattr(inner, name, ctypes.sizeof(inner) if value == "sizeof" else value)
    fields: Any = kind._fields_
    _templates[kind] = there = (bytes(made), dict(fields))
    return there


# ctypes keeps the low bits of a number that is too large. No C type is left out whose number a program gives.
LIMITS: Dict[Any, Tuple[int, int]] = {kind: (0, 2**(8 * ctypes.sizeof(kind)) - 1) for kind in (
    ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, c_uint64, ctypes.c_size_t)}
LIMITS.update({kind: (-2**(8 * ctypes.sizeof(kind) - 1), 2**(8 * ctypes.sizeof(kind) - 1) - 1) for kind in (
    ctypes.c_int32, ctypes.c_int64)})


def not_negative(most: int = 2**64 - 1, **numbers: int) -> int:
    """The last of them."""
    last = 0
    for name, last in numbers.items():
        if isinstance(last, int) and last < 0:
            raise ValueError(f"{name}={last} is negative")
        if isinstance(last, int) and last > most:
            raise ValueError(f"{name}={last} is more than {most}")
    return last


def driver_of(name: str) -> d.culv_driver:
    if name not in ("auto", "nvidia", "soft"):
        raise ValueError(f"there is no driver {name!r}; there are 'auto', 'nvidia' and 'soft', the software twin")
    return d.culv_driver["CULV_DRIVER_" + name.upper()]


def describe(kind: Type[_Struct], **fields: Any) -> _Struct:
    """A descriptor as its _init() makes it, with these fields. It keeps what it points to."""
    template, types = _templates.get(kind) or _template(kind)
    made: _Struct = kind.from_buffer_copy(template)
    made.kept = []
    for name, value in fields.items():
        if name not in types:
            raise TypeError(f"{kind.__name__} has no field {name}; it has {', '.join(types)}")
        if value is None:
            continue
        if isinstance(value, str):
            value = value.encode()
        elif types[name] is c_void_p and not isinstance(value, int):
            if isinstance(value, bytes):
                value = ctypes.create_string_buffer(value, len(value))
            made.kept.append(value)
            try:
                value = ctypes.addressof(value) if isinstance(value, (ctypes.Structure, ctypes.Array)) else handle(value)
            except TypeError as e:
                raise TypeError(f"{kind.__name__}.{name}: {e}") from None
        elif isinstance(value, int) and types[name] in LIMITS and kind.__name__.startswith("culv_"):
            least, most = LIMITS[types[name]]
            if not least <= value <= most:
                raise ValueError(f"{kind.__name__}.{name} is {value}; it is {least} to {most}")
        setattr(made, name, value)
    return made


_POINTERS: Any = (ctypes._Pointer, ctypes.CFUNCTYPE(None).__base__)


def _make(function: str, *args: Any) -> int:
    out = c_void_p()
    getattr(api, function)(*args, byref(out))
    return out.value or 0


def destroy(function: str, pointer: c_void_p, last_use: Optional[c_void_p] = None) -> None:
    """The C call that ends an object. Some can do it behind a stream, and wait if there is none."""
    if last_use is not None and len(d.FUNCTIONS[function][1]) == 1:
        raise TypeError(f"{function}() takes no stream")
    getattr(api, function)(*[byref(pointer), None if last_use is None else byref(last_use)][:len(d.FUNCTIONS[function][1])])


OUT = object()  # where the C object goes, if not behind the other arguments
Making = Tuple[str, Tuple[Any, ...]]


def making(function: str, *args: Any) -> Making:
    """A call that makes an object, for Owned: it is made when everybody knows already whose it is."""
    return function, args if OUT in args else (*args, OUT)


def handle(value: Handle) -> int:
    """The number of somebody's handle: an int, a ctypes pointer, a cffi pointer (of the package `vulkan`), or an
    object of Culvert's: its VkBuffer, VkImage, VkSemaphore or VkDevice where it has one, else the C object."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if isinstance(getattr(type(value), "handle", None), property):
        return int(value.handle)
    inner: Any = getattr(value, "_as_parameter_", value)
    if isinstance(inner, int):
        return inner
    if isinstance(inner, ctypes._SimpleCData):
        return int(inner.value or 0)
    if isinstance(inner, _POINTERS):
        return ctypes.cast(inner, c_void_p).value or 0
    if type(inner).__module__ == "_cffi_backend":
        import _cffi_backend
        return int(_cffi_backend.FFI().cast("uintptr_t", inner))
    raise TypeError(f"{value!r} is no handle: pass its number")


def stream_handle(stream: StreamLike) -> int:
    """The number of a CUDA stream: an int, Culvert's own, PyTorch's, CuPy's, or any with __cuda_stream__. None is the
    current stream of PyTorch or CuPy where the program has one, else the legacy default stream."""
    if stream is None:
        return current_stream()
    if isinstance(stream, int):
        # A driver reads where a wrong number points to, and the process dies there.
        if type(stream) is not int or not 0 <= stream < 2**64 or 2 < stream < 4096:
            raise ValueError(f"{stream!r} is no stream: it is the number of a CUstream, 1 for the legacy default stream, or 2 for the "
                             "thread's own")
        return stream
    if hasattr(stream, "__cuda_stream__"):
        said: Any = getattr(stream, "__cuda_stream__")
        pair: Any = said() if callable(said) else said  # a property in older ones
        return int(pair[1])
    for name in ("cuda_stream", "ptr"):
        number = getattr(stream, name, None)
        if isinstance(number, int):
            return number
    return handle(stream)


def current_stream() -> int:
    """The stream on which PyTorch or CuPy works now: 0, the legacy default stream, where neither is used."""
    found: Dict[str, int] = {}
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized():
        found["PyTorch"] = torch.cuda.current_stream().cuda_stream
    cupy = sys.modules.get("cupy")
    if cupy is not None and hasattr(cupy, "cuda"):
        found["CuPy"] = cupy.cuda.get_current_stream().ptr
    streams = {n for n in found.values() if n}
    if len(streams) > 1:
        raise ValueError(f"PyTorch works on stream {found['PyTorch']:#x} and CuPy on {found['CuPy']:#x}: say which with stream=")
    return streams.pop() if streams else 0


def told(of: object, closed: bool, more: Iterable[str], state: str = "open") -> str:
    """A repr: the object's kind, its state, and what is to be told of one that is open."""
    if process.forked:  # nothing is asked of the parent's objects
        words = ["of the parent process"]
    elif closed:
        words = ["closed"]
    else:
        words = [state, *more]
    module = type(of).__module__.rpartition(".")[2]
    where = "" if module.startswith("_") or module == "show" else module + "."
    return f"<culvert.{where}{type(of).__name__} {', '.join(words)}>"


class Single:
    """One object of this process."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} is one object of this process: it is neither copied nor pickled")


_Self = TypeVar("_Self", bound="Closing")


class Closing(Single):
    """What a with statement closes."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


# Of the lists of children, and of who closes an object first. Who holds it waits for nothing.
looks = threading.RLock()

Left = Tuple[str, c_void_p, int]  # what is left to destroy: the function, the pointer, and the timeline's VkSemaphore


class Last(_Reference):
    """What is to be done when an object has gone. A KeyboardInterrupt in its __del__, even before the first line, is printed and
    forgotten. Then this comes into `gone`, which no code of Python's does, and bury() does what is left."""
    __slots__ = ("key", "left", "to", "home", "pinned")
    key: int
    left: List[Left]
    to: List[Left]  # where that goes
    home: "Optional[_Home]"  # a context that goes with its last user
    pinned: Any  # a tensor's export


gone: Deque[Any] = collections.deque()  # of Last
_lasts: Dict[int, Last] = {}
_keys = itertools.count(1)


def last_of(thing: Any, left: List[Left], to: List[Left], home: "Optional[_Home]" = None) -> int:
    """Its key, for drop(). `left` are the pointers that C writes into."""
    last = Last(thing, gone.append)
    last.key, last.left, last.to, last.home, last.pinned = next(_keys), left, to, home, None
    _lasts[last.key] = last
    if home is not None:
        home.users.add(last.key)
    return last.key


def drop(key: int) -> None:
    """The object is closed. It may say so twice. In a cycle of garbage a context's end may have come first: then it has waited for
    this."""
    last = _lasts.get(key)
    if last is not None:
        if last.home is not None:
            last.home.left(key)
        _lasts.pop(key, None)


_run = operator.methodcaller("__call__")


def at_once(*calls: Callable[[], Any]) -> None:
    """Calls C functions one behind the other. No Python runs in between, and so no KeyboardInterrupt comes there."""
    collections.deque(map(_run, calls), maxlen=0)


class Once:
    """A C call that is made once, wherever a KeyboardInterrupt comes: who is cut short asks again. `made` says that it succeeded.
    `then` are objects, names of fields and values, which the fields get in the same step."""
    __slots__ = ("left", "made")

    def __init__(self) -> None:
        self.left = [0]
        self.made = False

    def __call__(self, function: str, *args: Any, then: Sequence[Tuple[Any, str, Any]] = ()) -> None:
        answers: List[int] = []
        passed: List[Gate] = []
        succeeded = itertools.cycle(map(operator.not_, answers))
        try:
            for gate in [a.gate for a in args if a.__class__ is Pointer]:
                gate.enter()
                passed.append(gate)
            with contextlib.suppress(IndexError):
                at_once(self.left.pop, partial(answers.extend, map(getattr(api, function).raw, *((a,) for a in args))),
                        partial(collections.deque, itertools.starmap(setattr, itertools.compress(
                            [(self, "made", True), *then], succeeded)), 0))
        finally:
            for gate in passed:
                gate.leave()
        if any(answers):
            raise last_error(function)

    def last(self, ask: Callable[[], None]) -> None:
        """Behind an exception, where another one would lose the call: ask() makes it, and is asked again."""
        if self.left:
            try:
                ask()
            except KeyboardInterrupt:
                ask()
                raise


def bury() -> None:
    """Ends what went while an exception cut its __del__ short."""
    while gone and not process.forked:
        try:
            last = gone[-1]
        except IndexError:  # another thread has done it
            return
        if last.key in _lasts:
            me = threading.get_ident()
            with looks:
                gates = {pointer.gate for _, pointer, _ in last.left if isinstance(pointer, Pointer)}
                if last.home is not None and last.home.gate.shut_by == Gate.GONE:
                    last.left.clear()  # it went with the device
                elif all(gate.shut_by in (0, me) for gate in gates):
                    for gate in gates:
                        gate.shut_by = me
                    last.to.extend(map(last.left.pop, [-1] * len(last.left)))  # one step for a KeyboardInterrupt
            if last.pinned is not None:
                last.pinned()
            drop(last.key)
        with contextlib.suppress(ValueError):
            gone.remove(last)


class Owned(Closing):
    """Something of Culvert's that is given back by close(), at the end of a `with` block, or with its parent.

    C writes into `_as_parameter_`, when it makes the object and when it destroys it. So an exception that comes at any moment,
    as a KeyboardInterrupt may, neither loses an object nor has it destroyed twice."""

    _destroy = ""  # the C function, which takes a pointer to the pointer
    _as_parameter_ = Pointer()
    _home: "Optional[_Home]" = None  # the context whose queue may be at work with it
    _lives_on: "Optional[_Home]" = None  # a context that is not to go before this
    _key = 0  # of its Last

    def __init__(self, parent: "Optional[Owned]", made: Making, home: "Optional[_Home]" = None):
        self._parent = parent
        self._gate = Gate(type(self).__name__)
        self._home = home or getattr(parent, "_home", None)
        self._children: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._as_parameter_ = pointer_behind(self._gate)
        bury()
        self._key = last_of(self, self._left_over(), self._to(), self._home or self._lives_on)
        with looks:
            (parent._children if parent is not None else _roots).add(self)
        function, args = made
        try:
            getattr(api, function)(*[byref(self._as_parameter_) if a is OUT else a for a in args])
        except BaseException:
            self._left()
            raise

    def _close_children(self) -> None:
        with looks:
            children = list(self._children)
        for child in children:
            child.close()

    @property
    def closed(self) -> bool:
        return not self._as_parameter_ or self._gate.is_shut

    def close(self, after: StreamLike = None) -> None:
        """Gives the object back. With `after`, a CUDA stream, it is released when the stream has done what was submitted to it so far,
        and the call does not wait (where the C call takes a last_use). What a context made waits for the work of Context.submit() first,
        and is refused where that waits for CUDA, or a stream for a signal that nobody sends (BusyError). Other threads that are in a call
        with it end that call first; later ones raise ValueError."""
        if self.closed or process.forked:
            return
        call = f"{type(self).__name__}.close"
        if after is None:
            from ._turns import settle_cuda
            settle_cuda(call)
            _sweep_later()
        lock: Any = contextlib.nullcontext() if self._home is None else self._home.lock
        with lock:  # nobody else submits meanwhile
            if after is None and self._home is not None:
                self._home.settle(call)
            self._close_children()
            self._end(call, after)

    def _end(self, call: str, after: StreamLike) -> None:
        pointer = self._as_parameter_
        try:
            with looks:
                if self.closed:  # another thread was faster
                    return
                self._gate.shut_by = threading.get_ident()
            self._gate.shut(call)
            self._close_children()  # those that came meanwhile
            self._goes()
            destroy(self._destroy, pointer, None if after is None else c_void_p(stream_handle(after)))
        finally:
            if not self._gate.is_shut:
                self._gate.shut_by = 0 if pointer else Gate.GONE  # a destroy that is refused leaves it
        self._left()

    def _goes(self) -> None:
        """Just before it is destroyed."""

    def _left(self) -> None:
        """The object may be closed."""
        if not self._as_parameter_:
            drop(self._key)

    def _to(self) -> List[Left]:
        """Where goes what is left to destroy when the object cannot be closed at its end."""
        home = self._home or self._lives_on
        return _later if home is None else home.later

    def _left_over(self) -> List[Left]:
        return [(self._destroy, self._as_parameter_, 0)]

    def _give_up(self) -> None:
        """The object goes, and is destroyed later."""
        last = _lasts.get(self._key)
        if last is not None:
            last.to.extend(map(last.left.pop, [-1] * len(last.left)))
        self._as_parameter_ = pointer_behind(self._gate)
        self._left()

    def __del__(self) -> None:
        if process.forked or sys.is_finalizing():
            return
        if not self._as_parameter_:
            self._left()  # an exception may have come before that
            return
        if self._gate.is_shut:  # bury() was faster
            return
        from ._turns import cuda_waits
        home = self._home
        if home is None:
            if cuda_waits():
                self._give_up()
            else:
                self.close()
            return
        locked: List[bool] = []
        try:
            locked.extend(map(home.lock.acquire, (False,)))  # a collector comes at any moment, and never waits
            if home.gate.shut_by == Gate.GONE:
                self._as_parameter_ = pointer_behind(self._gate)  # it went with the device
                self._left()
            elif not locked[0] or not home.is_idle() or cuda_waits():
                self._give_up()
            else:
                self.close()
        finally:
            if locked and locked[0]:
                home.lock.release()

    def __repr__(self) -> str:
        return told(self, self.closed, self._told())

    def _told(self) -> Iterator[str]:
        """What a repr says of an object that is open: its size, and whose it is."""
        yield from ()

    def _need(self) -> Pointer:
        if self.closed:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._as_parameter_

    def _behind(self, value: Optional[int]) -> Pointer:
        """Something of the C object's, which goes with it."""
        return pointer_behind(self._gate, value or 0)


_roots: "weakref.WeakSet[Owned]" = weakref.WeakSet()
_homes: "weakref.WeakValueDictionary[int, _Home]" = weakref.WeakValueDictionary()  # by the VkDevice
_later: List[Left] = []  # what went without a context, while a stream waited for a signal that nobody sends


def sweep(later: List[Left], forget: Callable[[int], None] = lambda timeline: None) -> None:
    """Destroys all of that. What is refused is tried again with the next one."""
    for _ in range(len(later)):
        mine: List[Left] = []
        try:
            mine.extend(map(later.pop, (-1,)))
            forget(mine[0][2])
            destroy(*mine[0][:2])
        except IndexError:  # another thread has done it
            return
        except Error:
            if not mine[0][1]:
                raise
        finally:
            later[:0] = [left for left in mine if left[1]]


def _sweep_later() -> None:
    bury()
    sweep(_later)


@atexit.register
def _close_roots() -> None:
    process.end()
    for root in list(_roots):  # what a context could not close is not among them
        if process.goes_on(getattr(root, "_thread", threading.main_thread())):
            continue
        try:
            root.close()
        except (Error, RuntimeError):  # the system takes it
            pass
