#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# check.sh MODEL [-DSWITCH ...]: one line per run; needs spin and a C compiler. Without a switch that leaves
# a rule out "errors: 0" is expected, with one a counterexample (TRAIL=1 prints it). Without any argument:
# the models with all rules, then with each of them left out.
set -u
here=$(cd "$(dirname "$0")" && pwd)

check()
{
        local model=$1 dir cut
        shift
        dir=$(mktemp -d)
        (
                cd "$dir" || exit 2
                cp "$here/$model.pml" . && spin "$@" -a "$model.pml" >spin.out 2>&1 || { cat spin.out; exit 2; }
                cc -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c 2>cc.out || { tail -3 cc.out; exit 2; }
                timeout "${SECONDS_MAX:-300}" ./pan ${PANOPT:-} -m1000000 >pan.out 2>&1
                grep -q 'Search not completed' pan.out && grep -q 'errors: 0' pan.out && cut=' (not finished)'
                printf '%-10s %-24s %s, %s states%s\n' "$model" "$*" "$(grep -o 'errors: [0-9]*' pan.out || echo 'not finished')" \
                        "$(awk '/states, stored/ { print $1; exit }' pan.out)" "${cut:-}"
                [ -f "$model.pml.trail" ] && [ -n "${TRAIL:-}" ] && spin "$@" -t -p -g -l "$model.pml"
        )
        rm -rf "$dir"
}

if [ $# -gt 0 ]; then
        check "$@"
        exit
fi
check standing
for rule in UNCHECKED PLAINBEGIN IGNORE LATE NOVALIDATE NODOOM STALEHEAD ONEFIELD BADORDER NORECHECK NOFENCE; do
        check standing "-D$rule"
done
check group_commit -DW=2
check group_commit -DW=2 -DPUSHES=1
check group_commit -DW=2 -DFAIL
for rule in NOLEAD "NOREPEAT -DFAIL"; do
        # shellcheck disable=SC2086 # several switches
        check group_commit -DW=3 -D$rule
done
