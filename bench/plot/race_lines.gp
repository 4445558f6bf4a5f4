# SPDX-License-Identifier: MIT
#
# Durable inserts by the number of processes, a line for each system; whiskers from minimum to maximum.
# Called by bench/plot/pictures with csv, svg and medians set.

systems = "bptree cobtree lmdb bdb rocksdb sqlite"
names = "'B+-tree' 'cache-oblivious B-tree' 'LMDB' 'Berkeley DB' 'RocksDB (threads)' 'SQLite'"
colours = "#0b6fa4 #3fa7d6 #e08a1e #b5532a #8a6fb0 #7a7a7a"

set terminal svg size 760, 400 font "sans-serif,12" background "white"
set output svg
set title "durable inserts per second, by processes; more is better"
set border 3 linecolor "#444444"
set grid linecolor "#dddddd"
set logscale x 2
set logscale y
set xtics nomirror (1, 2, 4, 8, 16)
set xrange [0.9:17.5]
set ytics nomirror
set format y "%.0s%c"
set key outside right center Left reverse samplen 2
rows(name) = sprintf("< awk -v by=workers -v metric=ops_per_s -v experiment=durable-insert -v measured=%s -f '%s' '%s'", \
        name, medians, csv)
plot for [i = 1:words(systems)] rows(word(systems, i)) using 1:2:3:4 with yerrorlines \
     linewidth 2 pointtype 7 pointsize 0.6 linecolor rgb word(colours, i) title word(names, i)
