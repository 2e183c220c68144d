/* Control: a binary search in a table of 4 KiB. Each step needs the one before, and nobody can split that chain. It stores nothing. */
#include "../advice/best.h"

#define KEYS 512
#define SEARCHES 1024

size_t search(const int64_t *keys, int64_t wanted)
{
    size_t base = 0;
    for (size_t half = KEYS / 2; half > 0; half /= 2)
        if (keys[base + half] <= wanted)
            base += half;
    return base;
}

size_t search_all(const int64_t *keys)
{
    size_t found = 0;
    int64_t wanted = 1;
    for (int i = 0; i < SEARCHES; i++) {
        found += search(keys, wanted);
        wanted = (wanted * 75 + 74) % 5119;
    }
    return found;
}

static _Alignas(64) int64_t keys[KEYS];
static volatile size_t result;

static void work(void)
{
    result = LIBRARY_CALL(search_all)(keys);
}

int main(void)
{
    for (int64_t i = 0; i < KEYS; i++)
        keys[i] = 10 * i;
    print_ns(work, SEARCHES * 9.0);
    return 0;
}
