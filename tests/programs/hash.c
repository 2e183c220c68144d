/* Control: the hash FNV-1a of a text, kept in a register. It is one chain, but each step needs the whole result of the one before, so
 * nobody can split it. */
#include "../advice/best.h"

#define TEXT 4096

uint64_t hash(const unsigned char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ text[i]) * 0x100000001b3u;
    return hash;
}

static unsigned char text[TEXT];
static volatile uint64_t result;

static void work(void)
{
    result = LIBRARY_CALL(hash)(text, TEXT);
}

int main(void)
{
    for (size_t i = 0; i < TEXT; i++)
        text[i] = (unsigned char)(11 * i);
    print_ns(work, TEXT);
    return 0;
}
