# SPDX-License-Identifier: MIT
#
# SQLite: speedtest1, which verifies what it reads, with databases in memory and in files; and a bank, a database in a heap that
# several processes use, half of which are killed (sqlite_bank.c).
#
# shellcheck shell=sh disable=SC2034,SC2046

package=sqlite3
needs=tclsh # Debian: tcl
led='open read write pread pwrite stat lstat access unlink'
calls='printf: the C library formats text on the heap'

# One file of all its sources, as its makefile makes it; once.
amalgamation()
{
        [ -f "$work/sqlite/sqlite3.c" ] && return
        mkdir -p "$work/sqlite" &&
                (cd "$work/sqlite" && sh "$source/configure" --disable-tcl --disable-readline && make sqlite3.c)
}

build()
{
        amalgamation || return
        cp "$work/sqlite/sqlite3.c" "$work/sqlite/sqlite3.h" "$source/test/speedtest1.c" "$out" && cd "$out" || return
        compile -I. -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_MAX_MMAP_SIZE=0 -- sqlite3.c speedtest1.c &&
                link speedtest1 $(objects sqlite3.c speedtest1.c)
}

# Without times.
speed()
{
        run speedtest1 --verify "$@" | sed 's/ *[0-9.]*s$//'
}

exercise()
{
        speed --size 5
        speed --size 5 file
        speed --size 5 --journal wal wal
        for set in cte fp orm; do
                speed --size 5 --testset $set
        done
}

crowd()
{
        $clang -O2 -D_GNU_SOURCE "-I$srcdir" "-I$srcdir/include" -c "$srcdir/tests/programs/deaths.c" -o "$out/deaths.o" &&
                $way -Wall -Wextra -Werror -D_GNU_SOURCE -no-pie "-I$out" "-I$srcdir" "-I$srcdir/include" "$here/sqlite_bank.c" \
                        "$out/deaths.o" $(objects sqlite3.c) "$builddir/tests/support/.libs/libsupport.a" -L"$builddir/.libs" \
                        "-Wl,-rpath,$builddir/.libs" -lxacheap -lxac -lm -o "$out/bank" &&
                timeout "$(leeway_s "$seconds")" "$out/bank"
}
