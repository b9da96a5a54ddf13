# SPDX-License-Identifier: MIT
"""Structs of C that refuse a field that they do not have."""
import ctypes
from typing import Any, Dict, List, Tuple


def _tell(struct: Any) -> str:
    told = []
    for name, *_ in struct._fields_:
        value = getattr(struct, name)
        if isinstance(value, ctypes.Array):
            value = list(value) if any(value) else 0
        if value or isinstance(value, (ctypes.Structure, ctypes.Union)):
            told.append(f"{name}={value!r}")
    return f"{type(struct).__name__}({', '.join(told)})"


def _as_handles(args: Tuple[Any, ...], fields: Dict[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
    """Objects of Culvert's for their handles."""
    from ._lib import handle

    def number(value: Any) -> Any:
        return handle(value) if hasattr(value, "_as_parameter_") or hasattr(type(value), "handle") else value

    return [number(a) for a in args], {n: number(v) for n, v in fields.items()}


class Structure(ctypes.Structure):
    """`kept` holds what the struct points to."""

    __slots__ = ("kept", "refused")  # without a dictionary a misspelled field has no place
    kept: List[Any]
    refused: List[str]

    def __init__(self, *args: Any, **fields: Any):
        try:
            try:
                super().__init__(*args, **fields)
            except TypeError:
                args_, fields_ = _as_handles(args, fields)
                super().__init__(*args_, **fields_)
        except AttributeError:
            names = [name for name, *_ in self._fields_]
            wrong = ", ".join(n for n in fields if n not in names)
            raise TypeError(f"{type(self).__name__} has no field {wrong}; it has {', '.join(names)}") from None

    def __repr__(self) -> str:
        return _tell(self)


class Union(ctypes.Union):
    __slots__ = ("kept",)
    kept: List[Any]
