/* An echo of 32 channels: each new sample is stored, and the one DELAY samples ahead in the same line is loaded, from the same
 * pointer. The code has the channels one after another, as generators and unrolling write it.
 * With a delay of 4,096 bytes Zen 4 takes the load for one of what was just stored, and has to repeat it. gcc from -O2 schedules
 * most loads before the stores, so there the pattern is not met. */
#include "best.h"

#define CHANNELS 32
#define FRAMES 64

#if REMEDY == 1 /* A delay that is not a multiple of 4,096 bytes: one cache line more. */
#define DELAY (1024 + 16)
#else
#define DELAY 1024
#endif

#define ECHO(k) line[k] = in[k]; out[k] = in[k] + (line[k + DELAY] >> 1);
#define ECHO8(k) ECHO(k) ECHO(k + 1) ECHO(k + 2) ECHO(k + 3) ECHO(k + 4) ECHO(k + 5) ECHO(k + 6) ECHO(k + 7)

void echo(int32_t *out, const int32_t *in, int32_t *line)
{
#if REMEDY == 2 /* The same in a loop, which has one load. */
    for (int k = 0; k < CHANNELS; k++) {
        ECHO(k)
    }
#else
    ECHO8(0) ECHO8(8) ECHO8(16) ECHO8(24)
#endif
}

static int32_t in[CHANNELS], out[CHANNELS], lines[FRAMES * CHANNELS + DELAY + CHANNELS];

static void work(void)
{
    for (int frame = 0; frame < FRAMES; frame++)
        LIBRARY_CALL(echo)(out, in, lines + frame * CHANNELS);
}

int main(void)
{
    print_ns(work, FRAMES * CHANNELS);
    return 0;
}
