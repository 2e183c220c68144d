/* The loop of tests/advice/placement.c at the slowest of its 64 addresses, and at no other for long: a sampler finds one hot loop.
 * Remedy: the flags -falign-loops=64 and -falign-jumps=64. */
#define main all_addresses
#include "../advice/placement.c"
#undef main

#define LOOK_NS 150e3

int main(void)
{
    double best[64];
    int slowest = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < 64; k++) {
            double time = best_within(WORK[k], TEXT, LOOK_NS);
            best[k] = pass == 0 || time < best[k] ? time : best[k];
        }
    for (int k = 0; k < 64; k++)
        slowest = best[k] > best[slowest] ? k : slowest;
    print_ns(WORK[slowest], TEXT);
    return 0;
}
