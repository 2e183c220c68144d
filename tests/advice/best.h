/* What every program here shares: the time of one operation, the best of many repetitions and their median. They differ where a core
 * has two paces for one loop. */
#ifndef BEST_H
#define BEST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* 0: the pattern as programs have it. From 1: what avoids it. */
#ifndef REMEDY
#define REMEDY 0
#endif

/* Calls a function as one of a library is called: the compiler cannot look at its arguments. */
#define LIBRARY_CALL(function) (*(__typeof__(&function) volatile *)&(__typeof__(&function)){function})

/* Long enough for hundreds of repetitions of some 5 to 100 us. The best of them met no interruption. */
#ifndef BUDGET_NS
#define BUDGET_NS 20e6
#endif

static inline double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* ns per operation of `work`, a function that does so many: the best of the calls that the budget allows. */
static inline double best_within(void (*work)(void), double operations, double budget_ns)
{
    double best = 1e30, start = now_ns(), from = start;
    while (from < start + budget_ns) {
        LIBRARY_CALL(*work)();
        double to = now_ns();
        if (to - from < best)
            best = to - from;
        from = to;
    }
    return best / operations;
}

#define TIMES 65536

static double times[TIMES];
static size_t timed;

/* Keeps the time of a repetition; beyond TIMES of them the oldest goes. */
static inline void keep_time(double time)
{
    times[timed++ % TIMES] = time;
}

static inline int by_size(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Prints ns per operation: the best of the times that were kept, and their median. */
static inline void print_times(double operations)
{
    size_t number = timed < TIMES ? timed : TIMES;
    qsort(times, number, sizeof *times, by_size);
    printf("%.4f %.4f\n", times[0] / operations, times[number / 2] / operations);
}

/* Measures `work`, a function that does so many operations, and prints its times. */
static inline void print_ns(void (*work)(void), double operations)
{
    double start = now_ns(), from = start;
    while (from < start + BUDGET_NS) {
        LIBRARY_CALL(*work)();
        double to = now_ns();
        keep_time(to - from);
        from = to;
    }
    print_times(operations);
}

#endif
