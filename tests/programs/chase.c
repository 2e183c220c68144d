/* Control: a walk through a random cycle of 8 KiB. Each load needs the one before, and nobody can split that chain. It stores
 * nothing. */
#include "../advice/best.h"

#define CELLS 1024
#define STEPS 4096

struct cell {
    const struct cell *next;
};

const struct cell *walk(const struct cell *at, size_t steps)
{
    while (steps-- > 0)
        at = at->next;
    return at;
}

static _Alignas(64) struct cell cells[CELLS];
static const struct cell *volatile result = cells;

static void work(void)
{
    result = LIBRARY_CALL(walk)(result, STEPS);
}

int main(void)
{
    unsigned order[CELLS], random = 1;
    for (unsigned i = 0; i < CELLS; i++)
        order[i] = i;
    for (unsigned i = CELLS - 1; i > 0; i--) { /* Fisher and Yates. */
        random = random * 1664525u + 1013904223u;
        unsigned j = (unsigned)((uint64_t)random * (i + 1) >> 32), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (unsigned i = 0; i < CELLS; i++)
        cells[order[i]].next = &cells[order[(i + 1) % CELLS]];
    print_ns(work, STEPS);
    return 0;
}
