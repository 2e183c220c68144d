/* Control: eight sums of floats that do not wait for one another. Cores add two floats a cycle, each in 4 cycles at most. */
#include "../advice/best.h"

#define FLOATS 4096

float sum(const float *values, size_t count)
{
    float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    for (size_t i = 0; i + 7 < count; i += 8) {
        a += values[i];
        b += values[i + 1];
        c += values[i + 2];
        d += values[i + 3];
        e += values[i + 4];
        f += values[i + 5];
        g += values[i + 6];
        h += values[i + 7];
    }
    return ((a + b) + (c + d)) + ((e + f) + (g + h));
}

static _Alignas(64) float values[FLOATS];
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
