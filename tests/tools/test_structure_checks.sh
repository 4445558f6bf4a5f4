#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The checks of the structure find what they are to find: each runs on small trees of sources that are made here.

set -eu

checks=$(cd "${srcdir:-.}/tools" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# found CHECK TEXT: it fails on the tree, and says so.
found()
{
        if srcdir=$work sh "$checks/$1" >out 2>&1; then
                echo "$1 passes, and was to say: $2"
                exit 1
        fi
        grep -qF "$2" out || { echo "$1 was to say: $2"; cat out; exit 1; }
}

# passes CHECK
passes()
{
        srcdir=$work sh "$checks/$1" >out 2>&1 || { echo "$1 fails"; cat out; exit 1; }
}

# ---- check-settings ----

mkdir -p base compiler python/libxac docs/man
settings()
{
        printf '.Sh ENVIRONMENT\n.Bl -tag\n'
        printf '.It Ev %s\nwhat it is\n' "$@"
        printf '.El\n.Sh FILES\n.It Ev FILES_HAS_NONE\n'
}

echo 'const char *where = secure_getenv("XAC_C");' >base/where.c
echo 'static const char *how = secure_getenv("XAC_CC");' >compiler/how.cc
echo 'chosen = os.environ.get("LIBXAC_PY")' >python/libxac/chosen.py
# shellcheck disable=SC2016
echo 'clang=${XAC_SH:-clang}' >compiler/call.in
settings XAC_C XAC_CC LIBXAC_PY XAC_SH >docs/man/xac.7
passes check-settings

settings XAC_CC LIBXAC_PY XAC_SH >docs/man/xac.7
found check-settings 'base/where.c:1: docs/man/xac.7 does not list XAC_C'
settings XAC_C LIBXAC_PY XAC_SH >docs/man/xac.7
found check-settings 'compiler/how.cc:1: docs/man/xac.7 does not list XAC_CC'
settings XAC_C XAC_CC XAC_SH >docs/man/xac.7
found check-settings 'python/libxac/chosen.py:1: docs/man/xac.7 does not list LIBXAC_PY'
settings XAC_C XAC_CC LIBXAC_PY >docs/man/xac.7
found check-settings 'compiler/call.in:1: docs/man/xac.7 does not list XAC_SH'
settings XAC_C XAC_CC LIBXAC_PY XAC_SH XAC_OLD >docs/man/xac.7
found check-settings 'nothing reads XAC_OLD'
settings XAC_C XAC_C XAC_CC LIBXAC_PY XAC_SH >docs/man/xac.7
found check-settings 'XAC_C is listed twice'

settings XAC_C XAC_CC LIBXAC_PY XAC_SH >docs/man/xac.7
echo 'const char *where = getenv("XAC_C");' >base/where.c
found check-settings 'base/where.c:1: secure_getenv() it'
echo 'const char *where = secure_getenv(name);' >base/where.c
found check-settings 'the name of a variable is to stand where it is read'

rm -r base compiler python docs

# ---- check-reserved ----

mkdir -p include/xac
printf 'typedef struct xac_more {\n        uint64_t is;\n        uint64_t reserved[2]; /* zeros */\n} xac_more;\n' >include/xac/more.h
passes check-reserved
printf 'typedef struct xac_less {\n        uint64_t is;\n} xac_less;\n' >include/xac/less.h
found check-reserved 'xac_less: no reserved words'
rm -r include

# ---- check-labels ----

mkdir -p docs base
labels()
{
        printf '## Promises\n\n| | what |\n|---|---|\n| P1 | one |\n| P2 | two |\n\n## Labels\n\n| prefix | of | defined in |\n|---|---|---|\n'
        printf '| `P` | promises | `docs/DESIGN.md`%s |\n' "$1"
        printf '| `H` | handlers | `base/handlers.h` |\n\n## Rules\n\nBoth are kept (P2).\n'
}

labels '' >docs/DESIGN.md
printf '/*\n * H1  A chain ends.\n * H2  Nothing changes.\n */\nint x; /* H1 */\n' >base/handlers.h
echo '/* As P1 and H2 say. */ int P9;' >base/use.c
passes check-labels

echo '/* As P3 says. */' >base/use.c
found check-labels 'base/use.c:1: cites P3, which docs/DESIGN.md does not define'
printf '/*\n * P1  Something else.\n */\n' >base/use.c
found check-labels 'base/use.c:2: defines P1, which the table of docs/DESIGN.md does not know'
labels ', `base/use.c`' >docs/DESIGN.md
passes check-labels
rm base/use.c
found check-labels 'docs/DESIGN.md: no P is defined in base/use.c'
labels '' >docs/DESIGN.md
printf '/*\n * H1  A chain ends.\n * H2  Nothing changes.\n * H1  Nothing else.\n */\n' >base/handlers.h
found check-labels 'base/handlers.h:4: defines H1 once more'
printf '/*\n * H1  A chain ends.\n */\n' >base/handlers.h
sed 's/^| `H` .*/&\n&/' docs/DESIGN.md >more && mv more docs/DESIGN.md
found check-labels 'the table has H twice'
