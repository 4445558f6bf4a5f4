# SPDX-License-Identifier: MIT
#
# Bars by system: a column for each experiment, a row for each number of workers; whiskers from minimum to maximum.
# Called by bench/plot/pictures with memory, durable (CSV files), crowds ("1 2"), svg and medians set. The white ground makes
# it readable where pages are dark.

panels = "insert lookup scan mixed durable-insert"
titles = "'insert' 'lookup' 'scan (records)' 'mixed, half lookups' 'durable insert'"
systems = "bptree cobtree lmdb bdb rocksdb sqlite"
names = "'B+-tree' 'cache-oblivious' 'LMDB' 'Berkeley DB' 'RocksDB' 'SQLite'"
colours = "0b6fa4 3fa7d6 e08a1e b5532a 8a6fb0 7a7a7a"
is_durable(panel) = panel eq "durable-insert"

width = 900
row_height = 212
height = row_height * words(crowds) + 16
set terminal svg size width, height font "sans-serif,12" background "white"
set output svg
set multiplot
set style fill solid 1 noborder
set yrange [words(systems) + 0.6:0.4]
set border 2 linecolor "#444444"
unset xtics
unset key

place(name) = sum [i = 1:words(systems)] (word(systems, i) eq name ? i : 0)
colour(name) = int(system(sprintf("printf '%%d' 0x%s", word(colours, place(name)))))
rows(panel, workers) = sprintf("< awk -v by=system -v metric=ops_per_s -v experiment=%s -v workers=%s%s -f '%s' '%s'", \
        panel, workers, panel eq "mixed" ? " -v param=reads=50" : "", medians, is_durable(panel) ? durable : memory)

# Three digits: 1.07M, 23.5k.
digits(x) = x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f"
short(ops) = ops < 1e3 ? sprintf("%.0f", ops) : ops < 1e6 ? sprintf(digits(ops / 1e3) . "k", ops / 1e3) : \
        ops < 1e9 ? sprintf(digits(ops / 1e6) . "M", ops / 1e6) : sprintf(digits(ops / 1e9) . "G", ops / 1e9)

left = 0.12
column = (1.0 - left) / words(panels)
row = real(row_height) / height
do for [r = 1:words(crowds)] {
        workers = word(crowds, r)
        set tmargin at screen 1 - (34.0 / height) - (r - 1) * row - 0.14 * row
        set bmargin at screen 1 - (34.0 / height) - r * row + 0.13 * row
        set label 1 sprintf("operations per second, %s; more is better", \
                workers eq "1" ? "one process" : workers . " processes") \
                at screen 0.5, 1 - (22.0 / height) - (r - 1) * row center font ",13"
        do for [p = 1:words(panels)] {
                set lmargin at screen left + (p - 1) * column
                set rmargin at screen left + (p - 0.08) * column
                set title word(titles, p) offset 0, -0.6 font ",12"
                set ytics scale 0 ()
                do for [i = 1:words(systems)] { set ytics add ((p == 1 ? word(names, i) : "") i) }
                data = rows(word(panels, p), workers)
                set xrange [*:*]
                set yrange [*:*]
                stats data using 4 nooutput
                set xrange [0:STATS_max * 1.45]
                set yrange [words(systems) + 0.6:0.4]
                plot data using (0):(place(strcol(1))):(0):2:(place(strcol(1)) - 0.38):(place(strcol(1)) + 0.38):(colour(strcol(1))) \
                             with boxxyerror linecolor rgb variable, \
                     data using 3:(place(strcol(1))):($4 - $3):(0) with vectors nohead linewidth 1.2 linecolor "#222222", \
                     data using 4:(place(strcol(1))):(short($2)) with labels left offset 0.5, 0 font ",11"
                unset label 1
        }
}
unset multiplot
