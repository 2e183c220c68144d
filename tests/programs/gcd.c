/* Control: greatest common divisors by division. All of it is in registers, and nobody can split the chain. */
#include "../advice/best.h"

#define PAIRS 64

uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static volatile uint64_t result;

static void work(void)
{
    uint64_t sum = 0;
    for (uint64_t i = 1; i <= PAIRS; i++)
        sum += LIBRARY_CALL(divisor)(12200160415121876738u, 7540113804746346429u - i); /* Neighbours of Fibonacci. */
    result = sum;
}

int main(void)
{
    print_ns(work, PAIRS);
    return 0;
}
