/* The length of what two texts have in common: a turn of a byte takes about a cycle. At some addresses the loop lies in one more
 * line of the cache, and each turn takes longer. Prints the slowest of 64 addresses. Remedies: the flags -falign-loops=64 and
 * -falign-jumps=64; gcc rotates this loop, so that a jump enters it. */
#include "best.h"

#define TEXT 2048
#define PASSES 4
/* For each address, in each pass: short beside the time for the slowest, so that a sampler finds one hot loop. */
#define LOOK_NS 150e3

static char text[TEXT], copy[TEXT];
static volatile size_t found;

/* Each copy begins with so many instructions that do nothing, as code before a loop moves it. */
#define SCAN(k) \
    __attribute__((aligned(64))) size_t common_##k(const char *one, const char *other, size_t length); \
    size_t common_##k(const char *one, const char *other, size_t length) \
    { \
        size_t i = 0; \
        __asm__ volatile(".rept %c1\n nop\n .endr" : "+r"(i) : "i"(0x##k)); \
        while (i < length && one[i] == other[i]) \
            i++; \
        return i; \
    } \
    static void work_##k(void) { found = LIBRARY_CALL(common_##k)(text, copy, TEXT); }
#define SCAN4(k) SCAN(k##0) SCAN(k##1) SCAN(k##2) SCAN(k##3) SCAN(k##4) SCAN(k##5) SCAN(k##6) SCAN(k##7) \
    SCAN(k##8) SCAN(k##9) SCAN(k##a) SCAN(k##b) SCAN(k##c) SCAN(k##d) SCAN(k##e) SCAN(k##f)
SCAN4(0) SCAN4(1) SCAN4(2) SCAN4(3)

#define WORK4(k) work_##k##0, work_##k##1, work_##k##2, work_##k##3, work_##k##4, work_##k##5, work_##k##6, work_##k##7, \
    work_##k##8, work_##k##9, work_##k##a, work_##k##b, work_##k##c, work_##k##d, work_##k##e, work_##k##f
static void (*const WORK[])(void) = {WORK4(0), WORK4(1), WORK4(2), WORK4(3)};

int main(void)
{
    double best[64];
    int slowest = 0;
    for (int pass = 0; pass < PASSES; pass++)
        for (int k = 0; k < 64; k++) {
            double time = best_within(WORK[k], TEXT, LOOK_NS);
            best[k] = pass == 0 || time < best[k] ? time : best[k];
        }
    if (getenv("ALL"))
        for (int k = 0; k < 64; k++)
            printf("%.4f\n", best[k]);
    for (int k = 0; k < 64; k++)
        slowest = best[k] > best[slowest] ? k : slowest;
    print_ns(WORK[slowest], TEXT);
    return 0;
}
