/* A bulk-synchronous job, as small as one can be: each rank does fixed work, then waits for all (MPI_Barrier), over and over.
 *
 *   mpicc -O2 -o barrier barrier.c && mpirun -n 2 --bind-to core ./barrier 0.001 10 [flat]
 *
 * does phases of 1 ms for about 10 s, and prints as one line of JSON how long they took. The work is a chain of float multiplications in a register, whose pace
 * depends on the clock alone; a phase of it is as long as asked for where nothing is lost (the fastest of many). cluster/barrier.py holds `bandscope scale` against it.
 */
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#define IN_REGISTER "+x"
#else
#define IN_REGISTER "+w"
#endif

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* So many multiplications, each of which waits for the one before. */
static void work(long multiplications) {
  float x = 1.0F;
  for (long i = 0; i < multiplications; i++) {
    x *= 1.0000001F;
    __asm__ volatile("" : IN_REGISTER(x));
  }
}

/* Seconds of a multiplication where nothing is lost. */
static double pace(void) {
  const long chain = 20000;
  double least = 1e9;
  for (int i = 0; i < 2000; i++) {
    double start = now();
    work(chain);
    double took = now() - start;
    if (took < least) least = took;
  }
  return least / (double)chain;
}

struct counter {
  atomic_int arrived, phase;
};

/* NULL: MPI's own barrier. */
static struct counter *counter;
static int ranks;

static struct counter *shared_counter(int rank) {
  MPI_Win window;
  MPI_Aint size = rank == 0 ? sizeof(struct counter) : 0;
  struct counter *it;
  int unit;
  MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &it, &window);
  MPI_Win_shared_query(window, 0, &size, &unit, &it);
  if (rank == 0) {
    atomic_init(&it->arrived, 0);
    atomic_init(&it->phase, 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return it;
}

static void wait_for_all(void) {
  if (counter == NULL) {
    MPI_Barrier(MPI_COMM_WORLD);
    return;
  }
  int phase = atomic_load(&counter->phase);
  if (atomic_fetch_add(&counter->arrived, 1) + 1 == ranks) {
    atomic_store(&counter->arrived, 0);
    atomic_store(&counter->phase, phase + 1);
  } else
    while (atomic_load(&counter->phase) == phase)
      ;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  double phase_s = argc > 1 ? atof(argv[1]) : 0;
  double seconds = argc > 2 ? atof(argv[2]) : 0;
  if (!(phase_s > 0 && seconds > phase_s)) {
    fprintf(stderr, "usage: barrier PHASE_SECONDS SECONDS [flat]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 3 && strcmp(argv[3], "flat") == 0) counter = shared_counter(rank);
  long multiplications = (long)(phase_s / pace());
  long phases = (long)(seconds / phase_s);

  MPI_Barrier(MPI_COMM_WORLD);
  double start = now();
  for (long i = 0; i < phases; i++) {
    work(multiplications);
    wait_for_all();
  }
  double elapsed = now() - start;

  /* What waiting itself takes, where nobody is late: the median of many. */
  enum { WAITS = 1001 };
  static double waits[WAITS];
  for (int i = 0; i < WAITS; i++) {
    double before = now();
    wait_for_all();
    waits[i] = now() - before;
  }
  for (int i = 1; i < WAITS; i++)
    for (int j = i; j > 0 && waits[j - 1] > waits[j]; j--) {
      double swap = waits[j];
      waits[j] = waits[j - 1];
      waits[j - 1] = swap;
    }
  if (rank == 0)
    printf("{\"ranks\": %d, \"phases\": %ld, \"phase_s\": %.9f, \"elapsed_s\": %.6f, \"wait_s\": %.9f}\n", ranks, phases, phase_s, elapsed, waits[WAITS / 2]);
  MPI_Finalize();
  return 0;
}
