/* A key of two fields, stored one by one and hashed as one number of 8 bytes. The load needs both stores, so neither can hand
 * its value on before it has reached the cache. */
#include "best.h"

#define STEPS 4096
#define CELLS 1024

struct cell {
    uint32_t row, column;
};

static inline uint64_t hash(const struct cell *cell)
{
    uint64_t key;
#if REMEDY == 2 /* Two loads, joined in a register. Optimizers make one load of them again. */
    key = (uint64_t)cell->column << 32 | cell->row;
#elif REMEDY == 3 /* `volatile` forbids that. */
    const volatile struct cell *each = cell;
    key = (uint64_t)each->column << 32 | each->row;
#else
    memcpy(&key, cell, sizeof key);
#endif
    return key * 0x9e3779b97f4a7c15u >> 54;
}

void step(struct cell *cell, const uint32_t *rows, const uint32_t *columns)
{
    uint64_t place = hash(cell);
#if REMEDY == 1 /* Both fields joined in a register, and stored at once. */
    uint64_t key = (uint64_t)columns[place] << 32 | rows[place];
    memcpy(cell, &key, sizeof key);
#else
    cell->row = rows[place];
    cell->column = columns[place];
#endif
}

static uint32_t rows[CELLS], columns[CELLS];
static struct cell cell;

static void work(void)
{
    for (int i = 0; i < STEPS; i++)
        LIBRARY_CALL(step)(&cell, rows, columns);
}

int main(void)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        rows[i] = 2654435761u * i;
        columns[i] = 40503u * i;
    }
    print_ns(work, STEPS);
    return 0;
}
