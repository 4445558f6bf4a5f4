-- SPDX-License-Identifier: MIT
--
-- Counts words. Nothing in it knows that the table lies in a file, or that several processes call it.

local counts, done = {}, {}

-- How often the word was there until now. Each worker counts how far it is.
function count(worker, word)
        counts[word] = (counts[word] or 0) + 1
        done[worker] = (done[worker] or 0) + 1
        return counts[word]
end

function progress(worker)
        return done[worker] or 0
end

-- Another text begins; the counts stay.
function begin()
        done = {}
        return 0
end

function total()
        local sum = 0
        for _, n in pairs(counts) do
                sum = sum + n
        end
        return sum
end

function different()
        local n = 0
        for _ in pairs(counts) do
                n = n + 1
        end
        return n
end

-- As uniq -c would say it, in no order.
function report()
        local lines = {}
        for word, n in pairs(counts) do
                lines[#lines + 1] = n .. " " .. word .. "\n"
        end
        return table.concat(lines)
end
