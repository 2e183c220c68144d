/* A filter after its input has ended: the value decays, and once it is smaller than 1.2e-38 it is denormal. */
#include "best.h"

#if REMEDY == 1
#ifndef __SSE__
#error "the registers of this remedy are those of x86"
#endif
#include <xmmintrin.h>
#endif

#define SAMPLES 8192

float filter(float *out, const float *in, float keep, float last, size_t samples)
{
    for (size_t i = 0; i < samples; i++) {
#if REMEDY == 2 /* An offset far below what anybody hears: the value decays towards 1e-20, not towards 0. */
        last = keep * last + (in[i] + 1e-20f);
#else
        last = keep * last + in[i];
#endif
        out[i] = last;
    }
    return last;
}

static float in[SAMPLES], out[SAMPLES], last = 1e-39f;

static void work(void)
{
    /* As near 1 as a float is, so that the value does not reach 0 while it is measured. */
    last = LIBRARY_CALL(filter)(out, in, 0.99999994f, last, SAMPLES);
}

int main(void)
{
#if REMEDY == 1 /* Flush results to zero, and read denormals as zero. */
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
    print_ns(work, SAMPLES);
    return 0;
}
