/* Control: the first occurrence of a character in a text, byte by byte. It stores nothing. */
#include "../advice/best.h"

#define TEXT 4096

const char *find(const char *text, char wanted)
{
    while (*text != 0 && *text != wanted)
        text++;
    return text;
}

static _Alignas(64) char text[TEXT];
static const char *volatile result;

static void work(void)
{
    result = LIBRARY_CALL(find)(text, '~');
}

int main(void)
{
    for (int i = 0; i < TEXT - 1; i++)
        text[i] = (char)('a' + i % 26);
    print_ns(work, TEXT);
    return 0;
}
