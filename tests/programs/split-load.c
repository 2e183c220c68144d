/* A field of 8 bytes at byte 60 of records of 64, as packed structures have it: each load of it needs two lines of the cache. Four
 * sums that do not wait for one another. */
#include "../advice/best.h"

#define RECORDS 256
#define RECORD 64
#define PASSES 32

#if REMEDY == 1 /* At byte 56, so that it lies in one line. */
#define PLACE 56
#else
#define PLACE 60
#endif

static inline uint64_t field(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

uint64_t sum(const unsigned char *fields, size_t records)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t i = 0; i + 3 < records; i += 4) {
        a += field(fields + i * RECORD);
        b += field(fields + (i + 1) * RECORD);
        c += field(fields + (i + 2) * RECORD);
        d += field(fields + (i + 3) * RECORD);
    }
    return a + b + c + d;
}

static _Alignas(64) unsigned char room[(RECORDS + 1) * RECORD];
static volatile uint64_t result;

static void work(void)
{
    for (int pass = 0; pass < PASSES; pass++)
        result = LIBRARY_CALL(sum)(room + PLACE, RECORDS);
}

int main(void)
{
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = (unsigned char)(11 * i);
    print_ns(work, PASSES * RECORDS);
    return 0;
}
