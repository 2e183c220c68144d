/* A time stamp of 8 bytes stored at byte 60 of records of 64, as packed structures have it: each store of it needs two lines of the
 * cache. */
#include "../advice/best.h"

#define RECORDS 256
#define RECORD 64
#define PASSES 32

#if REMEDY == 1 /* At byte 56, so that it lies in one line. */
#define PLACE 56
#else
#define PLACE 60
#endif

void stamp(unsigned char *fields, size_t records, uint64_t time)
{
    for (size_t i = 0; i < records; i++)
        memcpy(fields + i * RECORD, &time, sizeof time);
}

static _Alignas(64) unsigned char room[(RECORDS + 1) * RECORD];

static void work(void)
{
    for (int pass = 0; pass < PASSES; pass++)
        LIBRARY_CALL(stamp)(room + PLACE, RECORDS, 1u);
}

int main(void)
{
    print_ns(work, PASSES * RECORDS);
    return 0;
}
