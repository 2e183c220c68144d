/* Control: a sum of integers. Additions take one cycle, as does a turn of the loop. */
#include "../advice/best.h"

#define NUMBERS 2048

int64_t sum(const int64_t *values, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static _Alignas(64) int64_t values[NUMBERS];
static volatile int64_t result;

static void work(void)
{
    result = LIBRARY_CALL(sum)(values, NUMBERS);
}

int main(void)
{
    for (int64_t i = 0; i < NUMBERS; i++)
        values[i] = i * i;
    print_ns(work, NUMBERS);
    return 0;
}
