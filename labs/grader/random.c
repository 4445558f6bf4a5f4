/* SPDX-License-Identifier: MIT */

/*
 * SipHash-2-4 (J.-P. Aumasson and D. J. Bernstein, 2012) of a stream and a counter. An answer sees much of what is
 * drawn, and must not find out by it what else is: neither the seed nor the name of the test, nor what comes later.
 */

#include "labs/grader/random.h"

struct key {
        uint64_t half[2];
};

static struct key key;
static uint64_t stream, count;

static uint64_t rotated(uint64_t x, int bits)
{
        return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
        for (int i = 0; i < rounds; i++) {
                v[0] += v[1];
                v[2] += v[3];
                v[1] = rotated(v[1], 13) ^ v[0];
                v[3] = rotated(v[3], 16) ^ v[2];
                v[0] = rotated(v[0], 32) + v[3];
                v[2] += v[1];
                v[3] = rotated(v[3], 21) ^ v[0];
                v[1] = rotated(v[1], 17) ^ v[2];
                v[2] = rotated(v[2], 32);
        }
}

static void take_word(uint64_t v[4], uint64_t word)
{
        v[3] ^= word;
        mix(v, 2);
        v[0] ^= word;
}

static uint64_t hash(struct key by, uint64_t first, uint64_t second)
{
        const uint64_t byte_len = 2 * sizeof(uint64_t);
        uint64_t v[4] = { by.half[0] ^ 0x736f6d6570736575U, by.half[1] ^ 0x646f72616e646f6dU,
                          by.half[0] ^ 0x6c7967656e657261U, by.half[1] ^ 0x7465646279746573U };
        take_word(v, first);
        take_word(v, second);
        take_word(v, byte_len << 56);
        v[2] ^= 0xff;
        mix(v, 4);
        return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint32_t grader_random(uint32_t below)
{
        return (uint32_t)((hash(key, stream, count++) >> 32) % below);
}

void grader_random_stream(uint32_t number)
{
        stream = (uint64_t)number + 1;
        count = 0;
}

void random_begin(uint64_t seed, const char *name)
{
        key = (struct key){ { seed, 0 } };
        for (const char *c = name; *c != '\0'; c++)
                key = (struct key){ { hash(key, (unsigned char)*c, 0), hash(key, (unsigned char)*c, 1) } };
        stream = count = 0;
}
