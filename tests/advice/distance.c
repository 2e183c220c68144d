/* Bytes appended to a growing buffer, in base 64. Length and place of the buffer may be what the stores change, so they are
 * loaded again for each byte; some ten instructions lie between a store of the length and the load of it. */
#include "best.h"

#define BYTES 6144

struct buffer {
    char *data;
    size_t length;
};

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static inline void append(struct buffer *buffer, char byte)
{
    buffer->data[buffer->length++] = byte;
}

void encode(struct buffer *to, const unsigned char *in, size_t bytes)
{
#if REMEDY == 1 /* A copy, whose address nobody else has, stays in registers. */
    struct buffer own = *to, *buffer = &own;
#else
    struct buffer *buffer = to;
#endif
    for (size_t i = 0; i + 2 < bytes; i += 3) {
        uint32_t three = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
        append(buffer, digits[three >> 18]);
        append(buffer, digits[three >> 12 & 63]);
        append(buffer, digits[three >> 6 & 63]);
        append(buffer, digits[three & 63]);
    }
#if REMEDY == 1
    *to = own;
#endif
}

static unsigned char in[BYTES];
static char room[BYTES / 3 * 4];

static void work(void)
{
    struct buffer buffer = {room, 0};
    LIBRARY_CALL(encode)(&buffer, in, BYTES);
}

int main(void)
{
    for (size_t i = 0; i < BYTES; i++)
        in[i] = (unsigned char)(11 * i);
    print_ns(work, BYTES / 3 * 4);
    return 0;
}
