#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How many lines of pages/ and trees/ exist only for transactions (trees/README.md has the table, and explains it).
#
# It makes the serial tree out of them, by taking away whatever belongs to environments (the rules are below); compiles
# that and links it without libxac (but rewire/, which knows nothing of transactions), so that nothing can have been
# forgotten; lets it work; and counts by diff
# the lines of code that the tree in a view has and the serial one has not, or has otherwise. These may not be more than
# LIMIT, and as many as trees/README.md says. A line of code is one that has more on it than comments and a brace.
#
# Run by `make check`; by hand: srcdir=. sh tests/trees/count_lines.sh

set -eu

LIMIT=43

srcdir=${srcdir:-.}
awk=${AWK:-awk}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
        echo "count_lines: $*" >&2
        exit 1
}

# ---- declared access and arenas of snapshots go: what is left is the tree in a view ----

# Pages are reached by plain pointers, and nobody asks for the way. Nor is there translation, which trees do not use.
take_declared()
{
        take_snapshots "$1" |
                sed -E -e 's/[a-z>-]+->way == ARENA_DECLARED +\? .*$/addr;/' -e '/^ +: arena->way == ARENA_TRANSLATED /d' \
                        -e '/^ +: addr;$/d' -e '/^enum arena_way/,/^};/d' -e '/^ *enum arena_way way;/d' \
                        -e '/->way = way;/d' -e 's/, enum arena_way way//' -e 's/, ARENA_PLAIN//' -e 's/, \(enum arena_way\)access//' \
                        -e 's/\(access != XAC_ARENA_VIEW && [^)]*\)/access != XAC_ARENA_VIEW/'
}

# Functions named *_snapshot go, and what asks whether there is one.
take_snapshots()
{
        $awk '
        /^[a-z].*[a-z]_snapshot\(/ {
                if ($0 !~ /;$/)
                        while ($0 !~ /^\};?$/ && getline > 0)
                                ;
                next
        }
        /^ *if \(arena->snapshot/ { getline; next }
        /^ *xac_snapshot \*snapshot;/ || /^ *uint32_t file_no;/ || /^ *: arena->way == ARENA_SNAPSHOT / { next }
        { print }' "$1"
}

# ---- environments go: what is left is the serial tree ----

# 1. Functions named *_env, and what they alone use, go.
# 2. Of "is there an environment? this : that" that remains.
# 3. "|| (there is an environment ...)" goes.
# 4. What is only there to know the environment, or the file's name in it, goes.
take_environment()
{
        $awk '
        /^[a-z].*[a-z]_env\(/ || /^struct run \{/ || /^static int run_body\(/ {
                if ($0 !~ /;$/)
                        while ($0 !~ /^\};?$/ && getline > 0)
                                ;
                next
        }
        /^ *xac_env \*env;/ || /^ *char \*file;/ || /^ *free\(.*->file\);/ { next }
        { print }' "$1" |
                sed -E -e 's/[a-z>-]*env (&& [^?]*)?\? [^:]*: //' -e 's/ \|\| \([a-z>-]*env && [^)]*\)\)//'
}

# ---- counting ----

# The lines of code, with nothing but code.
code()
{
        $awk '
        {
                line = $0
                kept = ""
                while (line != "") {
                        at = index(line, is_comment ? "*/" : "/*")
                        if (!is_comment)
                                kept = kept (at ? substr(line, 1, at - 1) : line)
                        line = at ? substr(line, at + 2) : ""
                        if (at)
                                is_comment = !is_comment
                }
                sub(/[ \t]+$/, "", kept)
                if (kept !~ /^[ \t{};]*$/)
                        print kept
        }' "$1"
}

# lines_of FOLDER: how many there are.
lines_of()
{
        for file in "$work/$1"/*/*.[ch]; do
                code "$file"
        done | wc -l
}

# lines_only_in FOLDER OTHER: in FOLDER and not, or not so, in OTHER.
lines_only_in()
{
        for file in "$work/$1"/*/*.[ch]; do
                code "$file" >"$work/mine"
                code "$work/$2/${file#"$work/$1/"}" >"$work/its"
                diff "$work/its" "$work/mine" | sed -n "s|^> |$(basename "$file"): |p"
        done
}

# Lines that look whether the transaction is lost; a condition that leads to nothing else is one, too.
lines_lost()
{
        for file in "$work/serial"/*/*.[ch]; do
                code "$file" | $awk '
                /ARENA_LOST/ { count++; if (/^ *return ARENA_LOST;/ && before ~ /^ *(else )?if \(![a-z>-]+\)$/) count++ }
                { before = $0 }
                END { print count + 0 }'
        done | $awk '{ total += $1 } END { print total }'
}

# Lines that stay in the serial tree although they deal with transactions: by the words in them.
lines_joining()
{
        for file in "$work/serial"/*/*.[ch]; do
                code "$file" | $awk '
                /^(static |int |void |struct ).*(confirm|ask_body|struct question|carry_cursors|take_spare)/ { inside = 1 }
                /^(static|int|void|struct|enum|const|#)/ && !/confirm|ask_body|struct question|carry_cursors|take_spare/ { inside = 0 }
                inside || /arena_txn|TXN_|txn|confirm|is_outside|carry_cursors|spare/'
        done | wc -l
}

# ---- the trees ----

for layer in pages trees; do
        mkdir -p "$work/declared/$layer" "$work/view/$layer" "$work/serial/$layer"
done
for file in "$srcdir"/pages/*.[ch] "$srcdir"/trees/*.[ch]; do
        name=${file#"$srcdir/"}
        cp "$file" "$work/declared/$name"
        take_declared "$file" >"$work/view/$name"
        take_environment "$work/view/$name" >"$work/serial/$name"
done

# Calls of libxac: those of arenas, trees and rewired memory are not.
if sed -E 's/\<xac_(arena|rewire|tree)_[a-z_]+\(/(/g; /^ *[\/ ]\*/d' "$work"/serial/*/*.[ch] |
        grep -E '\<(xac_[a-z_]+|xbegin|xend|xabort)\(|->env\>|ARENA_DECLARED'; then
        fail "the lines above are left, though they belong to an environment: the rules do not know them"
fi

# The serial tree works, and where there is no libxac.
cat >"$work/serial.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <xac/tree.h>

enum { RECORDS = 20000 };

static int count(void *arg, const xac_tree_record *record)
{
        (void)record;
        ++*(int *)arg;
        return 0;
}

static int work(xac_arena *arena)
{
        xac_tree *tree;
        xac_tree_cursor *cursor;
        xac_tree_report report;
        char key[32], value[32];
        int found = 0;
        int err = xac_tree_open(arena, "numbers", XAC_TREE_CREATE, NULL, &tree);
        for (int i = 0; !err && i < RECORDS; i++) {
                int len = sprintf(key, "%d", i * 7919 % RECORDS);
                err = xac_tree_put(tree, key, (size_t)len, &i, sizeof(i), 0);
        }
        for (int i = 0; !err && i < RECORDS; i += 2) {
                int len = sprintf(key, "%d", i);
                err = xac_tree_get(tree, key, (size_t)len, value, sizeof(value), NULL);
                if (!err)
                        err = xac_tree_delete(tree, key, (size_t)len);
        }
        if (!err)
                err = xac_tree_scan(tree, NULL, 0, NULL, 0, count, &found);
        if (!err)
                err = xac_tree_cursor_open(tree, &cursor);
        if (!err && !(err = xac_tree_cursor_last(cursor)))
                err = xac_tree_cursor_previous(cursor);
        if (!err)
                err = xac_tree_check(arena, &report);
        return err ? err : found == RECORDS / 2 && report.records >= RECORDS / 2 ? 0 : 1;
}

int main(void)
{
        xac_arena *arena;
        int err = xac_arena_open_memory(0, 0, &arena);
        if (!err)
                err = work(arena);
        if (!err)
                err = xac_arena_open_file("arena", 0, 0, &arena);
        if (!err)
                err = work(arena);
        printf("the serial tree, without libxac: %s\n", err ? "does not work" : "works");
        return err != 0;
}
END
below=$(cd "$srcdir" && echo "$PWD"/rewire/*.c "$PWD"/base/sys.c "$PWD"/base/vector.c)
again=$(cd "$srcdir" && pwd)/tests/support/compile-again.sh
# shellcheck disable=SC2086 # words
(cd "$work" && sh "$again" ${CC:-cc} -std=gnu11 -O1 -D_GNU_SOURCE -I"$work/serial" -I"$(cd "$OLDPWD" && cd "$srcdir" && pwd)/include" \
        -I"$(cd "$OLDPWD" && cd "$srcdir" && pwd)" -pthread -o serial.out serial.c serial/pages/*.c serial/trees/*.c $below \
        -lurcu-common && ./serial.out) || fail "the serial tree does not work"

all=$(lines_of declared)
lines_only_in view serial >"$work/view.lines"
lines_only_in declared view >"$work/declared.lines"
view=$(wc -l <"$work/view.lines")
lost=$(lines_lost)
declared=$(($(wc -l <"$work/declared.lines") + lost))
joining=$(lines_joining)

echo "lines of code in pages/ and trees/:                  $all"
echo "the tree in a view, that the serial one has not:     $view"
echo "left in the serial tree, where they do nothing:      $joining (handles and cursors that outlive a transaction)"
echo "declared access besides:                             $declared ($lost look whether the transaction is lost)"
if [ "${1-}" = --list ]; then
        cat "$work/view.lines" "$work/declared.lines"
fi
grep -q "^| the tree in a view, .* | $view |$" "$srcdir/trees/README.md" ||
        fail "trees/README.md has another number of lines for the tree in a view than $view"
[ "$view" -le $LIMIT ] || fail "$view lines are more than the $LIMIT that a view may cost (--list shows them)"
