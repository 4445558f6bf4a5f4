# SPDX-License-Identifier: MIT
"""The part that is compiled: libxac._accelerated. Where it cannot be, the package is installed without it."""

from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent


class Build(build_ext):
    """The C files name each other from the root of libxac's source, where this folder is called `python`."""

    def run(self):
        root = Path(self.build_temp).resolve()
        root.mkdir(parents=True, exist_ok=True)
        link = root / "python"
        if not link.is_symlink():
            link.symlink_to(HERE)
        for extension in self.extensions:
            extension.include_dirs += [str(root), *_includes_of_numpy()]
        try:
            super().run()
        finally:
            link.unlink()


def _includes_of_numpy():
    try:
        import numpy
    except ImportError:
        return []  # the compiler says so, and the package does without
    return [numpy.get_include()]


setup(
    cmdclass={"build_ext": Build},
    ext_modules=[
        Extension(
            "libxac._accelerated",
            sorted(str(path.relative_to(HERE)) for path in HERE.glob("accelerated/*.c")),
            extra_compile_args=["-std=gnu11", "-fvisibility=hidden"],
            optional=True,
        )
    ],
)
