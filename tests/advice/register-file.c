/* Amounts added to the total of their account. Many in a row have the same account, so its total goes through memory, and
 * floats go by way of vector registers. */
#include "best.h"

#define ENTRIES 4096
#define IN_A_ROW 64

#if REMEDY == 2 /* Integers (cents) go by way of general registers. */
typedef int64_t money;
#else
typedef double money;
#endif

void book(money *totals, const uint32_t *accounts, const money *amounts, size_t entries)
{
#if REMEDY == 1 /* The total of the account at hand in a local variable. */
    if (entries == 0)
        return;
    uint32_t account = accounts[0];
    money total = totals[account];
    for (size_t i = 0; i < entries; i++) {
        if (accounts[i] != account) {
            totals[account] = total;
            account = accounts[i];
            total = totals[account];
        }
        total += amounts[i];
    }
    totals[account] = total;
#else
    for (size_t i = 0; i < entries; i++)
        totals[accounts[i]] += amounts[i];
#endif
}

static money totals[ENTRIES / IN_A_ROW], amounts[ENTRIES];
static uint32_t accounts[ENTRIES];

static void work(void)
{
    LIBRARY_CALL(book)(totals, accounts, amounts, ENTRIES);
}

int main(void)
{
    for (uint32_t i = 0; i < ENTRIES; i++) {
        accounts[i] = i / IN_A_ROW;
        amounts[i] = (money)(1 + i % 100);
    }
    print_ns(work, ENTRIES);
    return 0;
}
