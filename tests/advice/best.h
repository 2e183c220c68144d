/* What every program here shares: the time of one operation, the best of many repetitions. */
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

static inline double best_ns(void (*work)(void), double operations)
{
    return best_within(work, operations, BUDGET_NS);
}

#endif
