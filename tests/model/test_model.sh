#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The model test, as short as `make check` can wait for; XAC_TEST_SEED replays it.
# `make check-model` runs the long one.

exec sh "$(dirname "$0")/run-mixes.sh" --transactions "${XAC_MODEL_TRANSACTIONS:-150000}" \
        ${XAC_TEST_SEED:+--seed "$XAC_TEST_SEED"}
