/* An event whose fields are stored, and which is then copied whole to a queue. Compilers copy 16 bytes by one vector register. Its
 * load needs both stores, so neither can hand its value on before it has reached the cache. */
#include "best.h"

#define EVENTS 1024

struct event {
    uint64_t time, value;
};

struct source {
    struct event last;
};

void emit(struct source *source, struct event *queue, uint64_t value)
{
    source->last.time += 1;
    source->last.value *= value;
#if REMEDY == 1 /* Field by field. */
    queue->time = source->last.time;
    queue->value = source->last.value;
#else
    *queue = source->last;
#endif
}

static struct event queue[EVENTS];
static struct source source;

static void work(void)
{
    for (int i = 0; i < EVENTS; i++)
        LIBRARY_CALL(emit)(&source, queue + i, 3);
}

int main(void)
{
    print_ns(work, EVENTS);
    return 0;
}
