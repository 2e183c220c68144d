/* A writer whose position is a global variable. The code has many fields one after another, as generators and inlining write it.
 * C lets a store of a `char` change any object, so the position is loaded and stored for each field, relative to the instruction
 * pointer. Zen 4 renames such a value where 16 places update it, but not where 64 do. */
#include "best.h"

#define RECORDS 128

/* Fields of a record, and places that update the position. */
#ifndef PLACES
#define PLACES 64
#endif

struct writer {
    unsigned char *out;
    size_t length;
};

struct writer writer;

#if REMEDY == 1 /* A local copy, whose address nobody else has, stays in registers. */
#define TO own
#elif REMEDY == 2 /* In memory as before, but the address is in a register. */
#define TO (*to)
#elif REMEDY == 3 /* One place that stores the position instead of many. */
#define TO writer
#define ROLLED
#else
#define TO writer
#endif

#define PUT(k) TO.out[TO.length++] = record[k];
#define PUT8(k) PUT(k) PUT(k + 1) PUT(k + 2) PUT(k + 3) PUT(k + 4) PUT(k + 5) PUT(k + 6) PUT(k + 7)

void write_record(struct writer *to, const unsigned char *record)
{
    (void)to;
#if REMEDY == 1
    struct writer own = writer;
#endif
#ifdef ROLLED
    for (int k = 0; k < PLACES; k++) {
        PUT(k)
        __asm__ volatile(""); /* Keeps the compiler from unrolling the loop. */
    }
#else
    PUT8(0) PUT8(8)
#if PLACES == 64
    PUT8(16) PUT8(24) PUT8(32) PUT8(40) PUT8(48) PUT8(56)
#elif PLACES != 16
#error "the places are 16 or 64"
#endif
#endif
#if REMEDY == 1
    writer = own;
#endif
}

static unsigned char room[RECORDS * PLACES], record[PLACES];

static void work(void)
{
    writer.out = room;
    writer.length = 0;
    for (int i = 0; i < RECORDS; i++)
        LIBRARY_CALL(write_record)(&writer, record);
}

int main(void)
{
    print_ns(work, RECORDS * PLACES);
    return 0;
}
