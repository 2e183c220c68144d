/* A ring whose index wraps by itself, because it has 8 bits. The bytes stored may be the index, so it is loaded and stored for
 * each of them. */
#include "best.h"

#define BYTES 8192

#if REMEDY == 1 /* 32 bits, and the wrapping written out. */
typedef uint32_t position;
#else
typedef uint8_t position;
#endif

struct ring {
    unsigned char *data;
    position head;
};

static inline void push(struct ring *ring, unsigned char byte)
{
    ring->data[ring->head & 255] = byte;
    ring->head++;
}

void push_all(struct ring *ring, const unsigned char *in, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        push(ring, in[i]);
}

static unsigned char in[BYTES], room[256];
static struct ring ring = {room, 0};

static void work(void)
{
    LIBRARY_CALL(push_all)(&ring, in, BYTES);
}

int main(void)
{
    print_ns(work, BYTES);
    return 0;
}
