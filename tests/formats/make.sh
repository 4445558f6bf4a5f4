#!/bin/sh
# SPDX-License-Identifier: MIT
#
#       make.sh FOLDER [KIND...]
#
# Makes the environments of the format that the library of this build writes, as FOLDER/KIND.tar.gz. FOLDER is
# tests/formats/log-N, N being LOG_FORMAT_VERSION (recovery/log_format.h), or manifest-N when only that of the manifest has
# changed (recovery/manifest_slot.c), or heap-N, of the kind heap, when only that of heaps has (heap/roots_tree.h). Done once for each format, before it lands; what is there is never made again. Run it in the build directory, or tell where the program is by MAKE_ENVIRONMENT.

set -eu

[ $# -ge 1 ] || { sed -n '4s/^# */usage: /p' "$0" >&2; exit 2; }
make=${MAKE_ENVIRONMENT:-${builddir:-.}/tests/formats/make}
folder=$1
shift
[ $# -gt 0 ] || set -- clean killed volatile trees
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

mkdir -p "$folder"
for kind in "$@"; do
        "$make" "$kind" "$scratch/env" || [ $? -eq 137 ]
        rm -f "/dev/shm/xac.$(printf '%x.%x' $(stat -c '%d %i' "$scratch/env")).control" \
                "/dev/shm/xac.$(printf '%x.%x' $(stat -c '%d %i' "$scratch/env")).heads" \
                "/dev/shm/xac.$(printf '%x.%x' $(stat -c '%d %i' "$scratch/env")).pool"
        tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - env | gzip -9n >"$folder/$kind.tar.gz"
        rm -rf "$scratch/env"
done
ls -l "$folder"
