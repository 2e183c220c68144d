/* A sum of floats: each addition waits for the one before, and C does not let the compiler reorder them. */
#include "best.h"

#define FLOATS 4096

float sum(const float *values, size_t count)
{
#if REMEDY == 1 /* Four sums that do not wait for one another. */
    float a = 0, b = 0, c = 0, d = 0;
    size_t i = 0;
    for (; i + 3 < count; i += 4) {
        a += values[i];
        b += values[i + 1];
        c += values[i + 2];
        d += values[i + 3];
    }
    for (; i < count; i++)
        a += values[i];
    return (a + b) + (c + d);
#else
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
#endif
}

static float values[FLOATS];
static volatile float result;

static void work(void)
{
    result = LIBRARY_CALL(sum)(values, FLOATS);
}

int main(void)
{
    for (size_t i = 0; i < FLOATS; i++)
        values[i] = 1.0f / (float)(1 + i);
    print_ns(work, FLOATS);
    return 0;
}
