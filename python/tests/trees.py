# SPDX-License-Identifier: MIT
"""What the package itself does not have: B+-trees that are written, by libxactrees, and a server of them, by `xac
serve`."""

import ctypes
import re
import subprocess
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path

import pytest

from libxac import _library
from libxac.errors import check

from conftest import BUILD

DECLARED = 2  # XAC_ARENA_DECLARED
CREATE = 1  # XAC_TREE_CREATE


class Options(ctypes.Structure):
    """xac_tree_options."""

    _fields_ = [
        ("key_bytes", c_uint32),
        ("value_bytes", c_uint32),
        ("compare", c_void_p),
        ("compare_arg", c_void_p),
        ("kind", c_uint32),
        ("reserved", c_uint32 * 5),
    ]


_PROTOTYPES = {
    "xac_arena_open_env": (c_int, c_void_p, c_char_p, c_int, POINTER(c_void_p)),
    "xac_arena_close": (c_int, c_void_p),
    "xac_tree_open": (c_int, c_void_p, c_char_p, c_int, POINTER(Options), POINTER(c_void_p)),
    "xac_tree_close": (None, c_void_p),
    "xac_tree_put": (c_int, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t, c_int),
    "xac_tree_delete": (c_int, c_void_p, c_char_p, c_size_t),
}


class Tree:
    """Records of an environment that is open here. value_bytes: keys have 8 bytes then, and values as many."""

    def __init__(self, env, file, name, value_bytes=None):
        self._calls = {}
        _library.declare(
            "libxactrees", [str(Path(_library.path).parent / "libxactrees.so.0")], _PROTOTYPES, self._calls
        )
        self._env = env
        self._arena, self._tree = c_void_p(), c_void_p()
        options = Options() if value_bytes is None else Options(8, value_bytes)
        self._check("xac_arena_open_env", env._handle.address, file.encode(), DECLARED, ctypes.byref(self._arena))
        self._check(
            "xac_tree_open", self._arena, name.encode(), CREATE, ctypes.byref(options), ctypes.byref(self._tree)
        )

    def _check(self, name, *arguments):
        check(self._calls[name](*arguments))

    def put(self, records):
        """In one transaction; a value of None: the record is deleted."""
        with self._env.transaction():
            for key, value in records.items():
                if value is None:
                    self._check("xac_tree_delete", self._tree, key, len(key))
                else:
                    self._check("xac_tree_put", self._tree, key, len(key), value, len(value), 0)

    def close(self):
        self._calls["xac_tree_close"](self._tree)
        self._check("xac_arena_close", self._arena)


class Server:
    """`xac serve` of an environment, at a socket, until stop()."""

    def __init__(self, env, address, *options):
        tool = BUILD / "tools" / "xac" / "xac"
        if not tool.exists():
            pytest.skip("the tool xac has not been built here")
        self.address = address
        self._process = subprocess.Popen(
            [tool, "serve", "--verbose", *options, env, address], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout.readline().startswith("serving"), "xac serve has not begun"

    @property
    def pid(self):
        return self._process.pid

    def bytes_sent(self):
        """To the client whose response has just ended, by all of them."""
        return int(re.search(r": \d+ responses by now, (\d+) bytes", self._process.stdout.readline()).group(1))

    def stop(self):
        self._process.terminate()
        assert self._process.wait(60) == 0
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()
