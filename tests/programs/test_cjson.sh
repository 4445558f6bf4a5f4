#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Documents of cJSON in a heap (examples/cjson): with the library of the system, by page faults; and compiled from source by
# xac-cc, where that is built and the source is to be had (examples/cjson/source).

# shellcheck source=tests/programs/try.sh
. "${srcdir:-.}/tests/programs/try.sh"

inventory=$srcdir/examples/cjson/inventory.c
tried=no
if [ -x "$compiler" ] && cjson=$(sh "$srcdir/examples/cjson/source" "$builddir/cjson-source"); then
        link="-lxacheap -lm"
        try compiled "$compiler" "-I$cjson" "$inventory" "$cjson/cjson/cJSON.c"
        tried=yes
fi
if there_is cjson/cJSON.h libcjson-dev; then
        link="$(cxx_flags) $(cxx_libs) -lcjson"
        try faults "${CC:-cc}" "$inventory"
        tried=yes
fi
[ $tried = yes ] || exit 77
exit $status
