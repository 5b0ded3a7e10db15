"""PDFium's functions that are called for every line, word and object of a page.

What belongs here: prototypes of them that pass plain addresses. What does not: calls made a few times a
page, which go through pypdfium2. Its prototypes make an object of every handle they take or return, which
costs more time than PDFium needs to answer.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

_Address = int


class Calls(NamedTuple):
    """Functions of PDFium by address; a handle is an address, and so is memory to write to."""

    char_box: Callable[[_Address, int, _Address], int]
    char_angle: Callable[[_Address, int], float]
    font_size: Callable[[_Address, int], float]
    font_info: Callable[[_Address, int, _Address, int, _Address], int]
    page_object: Callable[[_Address, int], _Address]
    form_object: Callable[[_Address, int], _Address]
    object_type: Callable[[_Address], int]


@cache
def calls() -> Calls:
    """The functions, looked up once."""
    from pypdfium2 import raw

    address, number, long = ctypes.c_void_p, ctypes.c_int, ctypes.c_ulong
    return Calls(
        _plain(raw.FPDFText_GetLooseCharBox, number, address, number, address),
        _plain(raw.FPDFText_GetCharAngle, ctypes.c_float, address, number),
        _plain(raw.FPDFText_GetFontSize, ctypes.c_double, address, number),
        _plain(raw.FPDFText_GetFontInfo, long, address, number, address, long, address),
        _plain(raw.FPDFPage_GetObject, address, address, number),
        _plain(raw.FPDFFormObj_GetObject, address, address, long),
        _plain(raw.FPDFPageObj_GetType, number, address),
    )


def address_of(handle: Any) -> int:
    """The address a handle of pypdfium2 stands for."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def _plain(function: Any, *types: Any) -> Any:
    return ctypes.CFUNCTYPE(*types)(address_of(function))
