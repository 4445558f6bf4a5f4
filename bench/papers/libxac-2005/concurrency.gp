# SPDX-License-Identifier: MIT
# Tests A, B and C of the thesis (figures 4-5 and 4-6): throughput of one, two and four processes,
# on pages of their own and on the same page. Called by bench/plot/draw with csv, svg and medians set.

set terminal svg size 1200,720 background "white"
set output svg
set multiplot layout 2,3 title "Several processes at once: transactions per second, all together (median)"

set xlabel "processes"
set xtics (1, 2, 4)
set xrange [0.8:4.2]
set logscale xy
set format y "10^{%T}"
set grid y

# medians.awk groups by param: here that is the number of processes. One alone has no others'
# pages, so it stands with the same page only, but for those systems where nothing is shared.
series(system, metric) = sprintf("< awk -F, -v OFS=, -v metric=%s -v test=%s " . \
        "'NR == 1 { print } $4 == 1 && ($6 == metric || $3 == 1 && $6 == test \"_same_throughput\") " . \
        "{ $5 = $3; $6 = metric; print }' '%s' | awk -v measured=%s -v metric=%s -f '%s' /dev/stdin", \
        metric, substr(metric, 1, 1), csv, system, metric, medians)

shared = "libxac_declared libxac_view mutex"
separate = " separate_declared separate_view"
# LMDB last, as perhaps it was not there.
lmdb = system(sprintf("grep -q ,lmdb, '%s' && echo ' lmdb'", csv))
all = shared . separate . lmdb
colour(name) = sum [i = 1:words(all)] (word(all, i) eq name ? i : 0) # the same in each plot
do for [place in "disjoint same"] {
        do for [test in "A B C"] {
                set title sprintf("%s, %s", test, place eq "same" ? "all the same page" : "pages of their own")
                # One legend, where there is room for it.
                unset key
                if (place eq "disjoint" && test eq "C") { set key top left font ",9" noenhanced }
                names = place eq "same" ? shared . lmdb : shared . separate . lmdb
                plot for [name in names] series(name, test . "_" . place . "_throughput") using 1:2:3:4 \
                        with yerrorlines linetype colour(name) title name
        }
}
unset multiplot
