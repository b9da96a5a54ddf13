# SPDX-License-Identifier: MIT
"""What calls take of other libraries, for type checkers."""
import ctypes
import os
from typing import Any, Callable, Protocol, Sequence, Tuple, Union


class _CudaStream(Protocol):
    """cuda.core's, Numba's, and Culvert's."""

    def __cuda_stream__(self) -> Tuple[int, int]: ...


class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...


class _CupyStream(Protocol):
    @property
    def ptr(self) -> int: ...


class _NumpyType(Protocol):
    @property
    def name(self) -> str: ...


class _TorchType(Protocol):
    @property
    def is_floating_point(self) -> bool: ...


class _TorchTensor(Protocol):
    @property
    def data_ptr(self) -> Callable[[], int]: ...


class _CudaArray(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...


class _HostArray(Protocol):
    @property
    def __array_interface__(self) -> Any: ...


class _DLPack(Protocol):
    @property
    def __dlpack__(self) -> Any: ...


# A CUDA stream. None is the current one of PyTorch or CuPy, else the legacy default stream.
StreamLike = Union[None, int, "ctypes.c_void_p", _CudaStream, _TorchStream, _CupyStream]
# A type of an element, by its name ("float32"), or NumPy's, PyTorch's, CuPy's or JAX's.
DType = Union[str, type, _NumpyType, _TorchType]
# A tensor of anybody's.
TensorLike = Union[_TorchTensor, _CudaArray, _HostArray, _DLPack]
# A tensor's shape: a number for one dimension.
Shape = Union[int, Sequence[int]]
# A handle of Vulkan or CUDA: a number, a pointer of ctypes or cffi, or an object of Culvert's.
Handle = Any
Path = Union[str, "os.PathLike[str]"]
