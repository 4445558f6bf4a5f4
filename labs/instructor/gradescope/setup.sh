#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prepares a container in which answers to one lab are graded. Gradescope runs it when it builds the image, as root, and so
# does the Containerfile. AUTOGRADER is /autograder; XAC_BUILD and XAC_SOURCE say where libxac is built already, or it is
# built and installed.

set -eu

place=${AUTOGRADER:-/autograder}
source=$place/source
lab=$(cat "$source/lab")

if ! command -v python3 >/dev/null; then
        export DEBIAN_FRONTEND=noninteractive
        apt-get update
        apt-get install -y --no-install-recommends python3
fi
[ -n "${XAC_BUILD-}" ] || sh "$source/labs/classroom/install_libxac" "$source/libxac.tar.gz"

# The grader and the hidden tests are root's alone: an answer runs as another user.
chmod 700 "$source"
make -s -C "$source/labs/$lab" grader HIDDEN=1 ${XAC_BUILD:+"XAC_BUILD=$XAC_BUILD"} ${XAC_SOURCE:+"XAC_SOURCE=$XAC_SOURCE"}
