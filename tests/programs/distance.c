/* The buffer of tests/advice/distance.c with every load and store of it, but the length comes from a register: nothing waits for what
 * is loaded. The local copy there also saves the loads and stores, so its gain is not that of the state alone. */
#define main pattern_main
#include "../advice/distance.c"
#undef main

static inline void append_at(volatile struct buffer *buffer, size_t *length, char byte)
{
    size_t loaded = buffer->length;
    (void)loaded;
    buffer->data[*length] = byte;
    buffer->length = ++*length;
}

void encode_from_register(struct buffer *to, const unsigned char *in, size_t bytes)
{
    size_t length = to->length;
    for (size_t i = 0; i + 2 < bytes; i += 3) {
        uint32_t three = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
        append_at(to, &length, digits[three >> 18]);
        append_at(to, &length, digits[three >> 12 & 63]);
        append_at(to, &length, digits[three >> 6 & 63]);
        append_at(to, &length, digits[three & 63]);
    }
}

static void work_from_register(void)
{
    struct buffer buffer = {room, 0};
    LIBRARY_CALL(encode_from_register)(&buffer, in, BYTES);
}

int main(void)
{
    for (size_t i = 0; i < BYTES; i++)
        in[i] = (unsigned char)(11 * i);
    print_ns(work_from_register, BYTES / 3 * 4);
    return 0;
}
