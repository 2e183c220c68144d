/* Control: matrices multiplied in tiles of 2 by 4, whose eight sums stay in registers. */
#include "../advice/best.h"

#define N 24 /* Rows of 192 bytes: no two lie a multiple of 4,096 bytes apart. */

void multiply(double *to, const double *a, const double *b)
{
    for (int row = 0; row < N; row += 2)
        for (int column = 0; column < N; column += 4) {
            double s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
            for (int k = 0; k < N; k++) {
                double x = a[row * N + k], y = a[(row + 1) * N + k];
                const double *line = b + k * N + column;
                s00 += x * line[0];
                s01 += x * line[1];
                s02 += x * line[2];
                s03 += x * line[3];
                s10 += y * line[0];
                s11 += y * line[1];
                s12 += y * line[2];
                s13 += y * line[3];
            }
            double *tile = to + row * N + column;
            tile[0] = s00, tile[1] = s01, tile[2] = s02, tile[3] = s03;
            tile[N] = s10, tile[N + 1] = s11, tile[N + 2] = s12, tile[N + 3] = s13;
        }
}

static _Alignas(64) double a[N * N], b[N * N], product[N * N];

static void work(void)
{
    LIBRARY_CALL(multiply)(product, a, b);
}

int main(void)
{
    for (int i = 0; i < N * N; i++) {
        a[i] = 1.0 / (1 + i);
        b[i] = 1 + i % 7;
    }
    print_ns(work, N * N * N);
    return 0;
}
