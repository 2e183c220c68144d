/* Control: an array filled with a pattern of 8 bytes. It stores, and loads nothing. */
#include "../advice/best.h"

#define WORDS 2048

void fill(uint64_t *to, size_t words, uint64_t pattern)
{
    for (size_t i = 0; i < words; i++)
        to[i] = pattern;
}

static _Alignas(64) uint64_t room[WORDS];

static void work(void)
{
    LIBRARY_CALL(fill)(room, WORDS, 0x0123456789abcdefu);
}

int main(void)
{
    print_ns(work, WORDS);
    return 0;
}
