/* Control: groups of four numbers, each sorted in registers by a network of five comparisons. What is stored is not loaded again. */
#include "../advice/best.h"

#define GROUPS 256

#define ORDER(x, y) { int64_t low = x < y ? x : y, high = x < y ? y : x; x = low; y = high; }

void sort(int64_t *to, const int64_t *from, size_t groups)
{
    for (size_t i = 0; i < groups; i++, to += 4, from += 4) {
        int64_t a = from[0], b = from[1], c = from[2], d = from[3];
        ORDER(a, b) ORDER(c, d) ORDER(a, c) ORDER(b, d) ORDER(b, c)
        to[0] = a;
        to[1] = b;
        to[2] = c;
        to[3] = d;
    }
}

/* Half a page between what is loaded and what was just stored. */
static _Alignas(4096) int64_t room[GROUPS * 4 + 256 + GROUPS * 4];
#define FROM room
#define TO (room + GROUPS * 4 + 256)

static void work(void)
{
    LIBRARY_CALL(sort)(TO, FROM, GROUPS);
}

int main(void)
{
    uint32_t random = 1;
    for (int i = 0; i < GROUPS * 4; i++) {
        random = random * 1664525u + 1013904223u;
        FROM[i] = random >> 8;
    }
    print_ns(work, GROUPS * 4);
    return 0;
}
