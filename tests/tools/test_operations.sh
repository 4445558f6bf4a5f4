#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs every block of commands of docs/OPERATIONS.md, in their order and in one directory, as its readers would. Between them the
# ledger grows; after them a copy of the disk it lies on, made while somebody writes, and one of a stopped writer's
# directory, must have all that was acknowledged.

set -u

srcdir=$(cd "${srcdir:-.}" && pwd)
builddir=$(cd "${builddir:-.}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/xac-operations.XXXXXX") || exit 1
. "$srcdir/tests/support/leeway.sh"
mounted=
writer=
failed=0

# Directories get the numbers of removed ones: what a killed ledger left in shared memory would be another test's.
clean_up()
{
        [ -z "$writer" ] || kill -KILL "$writer" 2>/dev/null
        for store in "$work"/here/*/xac.lock "$work"/*.mnt/store/xac.lock; do
                xac clean --force "$(dirname "$store")" >/dev/null 2>&1
        done
        for mount in $mounted; do
                umount "$mount" 2>/dev/null
        done
        rm -rf "$work"
}
trap clean_up EXIT

tools=$work/tools
mkdir "$tools" "$work/blocks" "$work/here"
ln -s "$builddir/tools/xac/xac" "$tools/xac"
ln -s "$builddir/tests/tools/ledger" "$tools/ledger"
PATH=$tools:$PATH
cd "$work/here" || exit 1

complain()
{
        echo "FAIL: $*" >&2
        failed=1
}

${AWK:-awk} -v to="$work/blocks/" '
        /^```sh$/ { file = to sprintf("%03d", NR); inside = 1; next }
        /^```/    { inside = 0 }
        inside    { print >file }' "$srcdir/docs/OPERATIONS.md"
[ "$(ls "$work/blocks" | wc -l)" -ge 10 ] || complain "the blocks of docs/OPERATIONS.md were not found"

# The directory `crashed`: after a crash, with a byte of the log changed behind some ten lines.
ledger before run "$work/told" &
writer=$!
until [ -s "$work/told" ] && [ "$(tr -d ' \n' <"$work/told")" -gt 100 ]; do
        sleep 0.1
done
kill -STOP $writer
cp -a before crashed
kill -KILL $writer
wait $writer 2>/dev/null
writer=
printf x | dd of=crashed/xac.log.1 bs=1 seek=$((4096 * 10 + 100)) conv=notrunc status=none

mkdir archive
LEDGER_ARCHIVE=archive
export LEDGER_ARCHIVE
ledger store add 200 >/dev/null || exit 1
for block in "$work"/blocks/*; do
        if timeout "$(leeway_s 120)" sh -eu "$block" >"$work/out" 2>&1; then
                echo "line $(basename "$block" | sed 's/^0*//'): $(tail -n 1 "$work/out")"
        else
                complain "the block at line $(basename "$block" | sed 's/^0*//') of docs/OPERATIONS.md:"
                sed 's/^/    /' "$block" "$work/out" >&2
        fi
        ledger store add 10 >/dev/null || complain "the ledger is not whole after that"
done
[ "$(ledger as-it-was)" != "$(ledger store)" ] || complain "nothing was taken back"

# acknowledged FILE: what the writer had told before now
acknowledged()
{
        tr -d ' \n' <"$1"
}

# For a second from when it has told something, however busy the machine is.
let_it_work()
{
        until [ -s "$work/told" ] || ! kill -0 "$writer" 2>/dev/null; do
                sleep 0.1
        done
        sleep 1
}

unset LEDGER_ARCHIVE

# Stopped, copied, and gone on.
rm "$work/told"
ledger store run "$work/told" &
writer=$!
let_it_work
kill -STOP $writer
least=$(acknowledged "$work/told")
cp -a store stopped-copy
kill -CONT $writer
ledger stopped-copy "$least" >/dev/null || complain "a copy made of a stopped writer's directory has lost commits"
kill -KILL $writer
wait $writer 2>/dev/null
writer=
ledger store "$least" >/dev/null || complain "what was stopped and killed has lost commits"

# A snapshot that is atomic: of the whole disk, frozen for a moment.
disk()
{
        truncate -s 64M "$1" && mkfs.ext4 -q "$1" && mkdir "$1.mnt" && mount -o loop "$1" "$1.mnt" && mounted="$mounted $work/$1.mnt"
}
cd "$work" || exit 1
if disk first.img 2>/dev/null && fsfreeze -f first.img.mnt && fsfreeze -u first.img.mnt; then
        rm "$work/told"
        ledger first.img.mnt/store run "$work/told" &
        writer=$!
        let_it_work
        least=$(acknowledged "$work/told")
        fsfreeze -f first.img.mnt && cp first.img second.img
        fsfreeze -u first.img.mnt
        kill -KILL $writer
        wait $writer 2>/dev/null
        writer=
        mkdir second.img.mnt && mount -o loop second.img second.img.mnt && mounted="$mounted $work/second.img.mnt"
        ledger second.img.mnt/store "$least" >/dev/null || complain "a snapshot of the disk has lost commits"
        echo "snapshot of a disk: $(ledger second.img.mnt/store), $least were acknowledged"
else
        echo "no disks of our own here: snapshots are not tested"
fi
exit $failed
