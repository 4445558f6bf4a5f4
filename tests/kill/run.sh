#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All kinds of deaths at length, by number (KILLS, ROUNDS, STRIDE) or for about so many seconds.
#
#       run.sh [SECONDS]
#
# Needs a build with --enable-test-hooks; run it in the build directory. XAC_TEST_SEED replays what is drawn at random.

set -eu

tests=${builddir:-.}/tests
seconds=${1-}

say_and_run()
{
        echo "== $*"
        "$@"
}

if [ -n "$seconds" ]; then
        # Percent of the time; `killed` takes its seconds for each of its modes on each kind of tree, ten in all.
        share() { echo $((seconds * $1 / 100 + 1)); }
        say_and_run "$tests/kill/steps" --durable
        say_and_run "$tests/kill/stopped" --each-step --stop-ms 500
        say_and_run "$tests/kill/random" --seconds "$(share 18)"
        say_and_run "$tests/kill/random" --seconds "$(share 12)" --durable
        say_and_run "$tests/kill/sleepers" --seconds "$(share 3)"
        say_and_run "$tests/kill/sleepers" --seconds "$(share 2)" --durable
        say_and_run "$tests/kill/random" --seconds "$(share 5)" --durable --page-bytes 65536
        say_and_run "$tests/kill/rounds" --seconds "$(share 20)"
        say_and_run "$tests/trees/killed" --seconds "$(share 2)"
        say_and_run "$tests/heap/killed" --seconds "$(share 2)"
        say_and_run "$tests/kill/single_step" --seconds "$(share 20)"
        exit
fi
say_and_run "$tests/kill/steps" --every 1
say_and_run "$tests/kill/steps" --every 1 --durable
say_and_run "$tests/kill/stopped" --each-step --stop-ms 1000
say_and_run "$tests/kill/stopped" --rounds $((KILLS / 20)) --stop-ms 1000 --log-kib 262144 --disk
say_and_run "$tests/kill/random" --kills "$KILLS"
say_and_run "$tests/kill/random" --kills "$KILLS" --durable
say_and_run "$tests/kill/random" --kills $((KILLS / 10)) --durable --page-bytes 65536
say_and_run "$tests/kill/sleepers" --kills $((KILLS / 2)) --turns 1000000
say_and_run "$tests/kill/sleepers" --kills $((KILLS / 5)) --durable
say_and_run "$tests/kill/rounds" --rounds "$ROUNDS"
say_and_run "$tests/kill/rounds" --rounds $((ROUNDS / 10)) --page-bytes 16384
say_and_run "$tests/trees/killed" --kills $((KILLS / 20))
say_and_run "$tests/heap/killed" --operations $((KILLS * 100))
say_and_run "$tests/kill/single_step" --stride "$STRIDE"
