# SPDX-License-Identifier: MIT
#
# Analytics beside transactions (README.md). tests/htap has the tests of what htap/ stands on.

include bench/papers/anker/htap/local.mk
include bench/papers/anker/snapshots/local.mk

EXTRA_DIST += \
        %D%/htap.awk \
        %D%/htap_latency.gp \
        %D%/htap_scaling.gp \
        %D%/htap_throughput.gp \
        %D%/htap_versioned.gp \
        %D%/plot \
        %D%/snapshots.gp
