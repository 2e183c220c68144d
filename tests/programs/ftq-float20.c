/* FTQ's current unit, written anew from what is published of it: 20 multiplications of a float. At -O0 each goes through memory, by
 * way of a vector register. From the fifth on the value is infinite, which costs what a normal number costs. */
#include "../advice/best.h"

#define UNITS 256

#if REMEDY == 1 /* The same multiplications in a register. To be built with -O1 at least. */
#define STAYS __asm__ volatile("" : "+x"(value));
#else
#define STAYS
#endif

#define MULTIPLY value *= factor; STAYS
#define MULTIPLY5 MULTIPLY MULTIPLY MULTIPLY MULTIPLY MULTIPLY

static volatile float result;

static void work(void)
{
    float value, factor;
    for (int unit = 0; unit < UNITS; unit++) {
        value = 1.0f;
        factor = 1e8f;
        MULTIPLY5 MULTIPLY5 MULTIPLY5 MULTIPLY5
        result = value;
    }
}

int main(void)
{
    print_ns(work, 20.0 * UNITS);
    return 0;
}
