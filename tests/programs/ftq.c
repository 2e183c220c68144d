/* FTQ's old unit, written anew from what is published of it: a counter that the compiler must keep in memory goes up 32 times and
 * down 31 times, then the clock is read. Units are counted in quanta of 100 us. -O0, -O2 and -O2 -DUNROLL are three of the four
 * published loops. */
#include "../advice/best.h"

#ifndef __x86_64__
#error "the clock of this program is that of x86-64"
#endif

#define TURNS 32
#define QUANTUM_NS 100e3

#ifdef UNROLL
#define LOOP _Pragma("GCC unroll 32")
#else
#define LOOP
#endif

/* Remedies, to be built with -O1 at least: 1 adds in a register. 2 does so, too, and keeps every load and store of the pattern, but
 * nothing waits for what is loaded. */
#if REMEDY == 0
#define KEPT volatile
#define STAYS(...)
#else
#define KEPT
#if REMEDY == 2
#define STAYS(value, copy) copy = value; (void)copy; __asm__ volatile("" : "+r"(value));
#else
#define STAYS(value, copy) __asm__ volatile("" : "+r"(value));
#endif
#endif

/* At -O0 the index is in memory, too. */
#ifdef INDEX_IN_MEMORY
#define INDEX_STAYS STAYS(k, index_copy)
#else
#define INDEX_STAYS
#endif

/* Counts in so many quanta; keeps the time of a unit in each. */
void main_loops(size_t quanta, unsigned long long ticks)
{
    unsigned long long now, end = __builtin_ia32_rdtsc();
    KEPT unsigned long long count;
    int k;
#if REMEDY == 2
    volatile unsigned long long count_copy;
    volatile int index_copy;
    (void)index_copy;
#endif
    for (size_t done = 0; done < quanta; done++) {
        count = 0;
        end += ticks;
        for (now = __builtin_ia32_rdtsc(); now < end; now = __builtin_ia32_rdtsc()) {
            LOOP for (k = 0; k < TURNS; k++) {
                count++;
                STAYS(count, count_copy)
                INDEX_STAYS
            }
            LOOP for (k = 0; k < TURNS - 1; k++) {
                count--;
                STAYS(count, count_copy)
                INDEX_STAYS
            }
        }
        keep_time(QUANTUM_NS / (double)count);
    }
}

int main(void)
{
    double from = now_ns();
    unsigned long long first = __builtin_ia32_rdtsc();
    while (now_ns() < from + 2e6)
        ;
    double ticks_per_ns = (double)(__builtin_ia32_rdtsc() - first) / (now_ns() - from);
    LIBRARY_CALL(main_loops)((size_t)(BUDGET_NS / QUANTUM_NS), (unsigned long long)(QUANTUM_NS * ticks_per_ns));
    print_times(2 * TURNS - 1);
    return 0;
}
