/* Starts `bandscope record` on all ranks of a job at the same time, compares their clocks before and after, and says what the fleet has.
 *
 *   mpicc -O2 -o bandscope-mpi bandscope-mpi.c
 *   srun --ntasks-per-node=1 ./bandscope-mpi --cpus all --duration 10s --output job.bandscope     # or mpirun
 *
 * All arguments go to `bandscope record`; the program is $BANDSCOPE, or bandscope in $PATH. Each rank leaves clock.json (docs/recording-format.md) beside its recording:
 * how the counter that times the recording relates to CLOCK_MONOTONIC of rank 0. A rank asks rank 0 for the time, many times, and keeps the fastest answer, whose error
 * is at most half of the time that it took. Summaries and clocks go to rank 0, which writes those that it cannot see, so no file system has to be shared. At last rank 0
 * prints what `bandscope fleet` says.
 *
 * The recorder is a process of its own, started before MPI is, and dies with its rank. The rank sleeps while it measures.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  MOST_QUESTIONS = 200, /* to rank 0, for one reading */
  LEAST_QUESTIONS = 20,
  ALL_QUESTIONS = 20000, /* of all ranks, about: they ask one after the other */
  START_AFTER_MS = 100,
  LOOK_AGAIN_MS = 5,
  PATH_BYTES = 4096, /* of a part's directory; names of files in it are shorter than NAME_BYTES */
  NAME_BYTES = 32,
  MOST_BYTES = 64 << 20, /* of a summary, as `bandscope fleet` reads */
};

struct reading {
  uint64_t ticks;
  int64_t reference_ns, own_ns;
  double within_ns;
};

static int rank, ranks;

static void fail(const char *what, ...) {
  va_list more;
  va_start(more, what);
  fprintf(stderr, "bandscope-mpi: rank %d: ", rank);
  vfprintf(stderr, what, more);
  fputc('\n', stderr);
  va_end(more);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The counter that times recordings. */
static uint64_t counter(void) {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
#error "only x86-64 and aarch64 have a counter that bandscope reads"
#endif
}

/* Asks rank 0 for its time, itself answers where this is rank 0. */
static struct reading read_clock(void) {
  int questions = ALL_QUESTIONS / ranks;
  if (questions > MOST_QUESTIONS) questions = MOST_QUESTIONS;
  if (questions < LEAST_QUESTIONS) questions = LEAST_QUESTIONS;
  struct reading best = {.within_ns = 1e300};
  char turn = 0;
  if (rank > 0) MPI_Recv(&turn, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < questions; i++) {
    int64_t sent = now_ns();
    uint64_t sent_ticks = counter();
    int64_t reference;
    if (rank > 0) {
      MPI_Send(&turn, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
      MPI_Recv(&reference, 1, MPI_INT64_T, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else
      reference = now_ns();
    uint64_t back_ticks = counter();
    int64_t back = now_ns();
    /* Rank 0 read its clock somewhere between the two readings of the counter. */
    double within = (double)(back - sent) / 2;
    if (within < best.within_ns) best = (struct reading){sent_ticks + (back_ticks - sent_ticks) / 2, reference, sent + (back - sent) / 2, within};
  }
  for (int other = 1; rank == 0 && other < ranks; other++) {
    MPI_Send(&turn, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    for (int i = 0; i < questions; i++) {
      MPI_Recv(&turn, 1, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      int64_t reference = now_ns();
      MPI_Send(&reference, 1, MPI_INT64_T, other, 2, MPI_COMM_WORLD);
    }
  }
  return best;
}

/* The value of --output, which names where all ranks record; NULL where it is not given. */
static const char *output_of(int argc, char **argv) {
  const char *output = NULL;
  for (int i = 1; i < argc; i++) {
    /* -q is the only other option of one letter, and takes no value: -qo DIRECTORY. */
    const char *letters = argv[i][0] == '-' ? argv[i] + 1 + strspn(argv[i] + 1, "q") : "";
    if ((strcmp(argv[i], "--output") == 0 || strcmp(letters, "o") == 0) && i + 1 < argc) output = argv[++i];
    else if (strncmp(argv[i], "--output=", 9) == 0) output = argv[i] + 9;
    else if (letters[0] == 'o' && letters[1] != '\0') output = letters + 1 + (letters[1] == '=');
  }
  return output;
}

/* Forks the recorder, which waits until a byte comes through `go`. */
static pid_t fork_recorder(const char *program, int argc, char **argv, int *go) {
  int line[2];
  if (pipe2(line, O_CLOEXEC) != 0) return -1;
  pid_t parent = getpid(), recorder = fork();
  if (recorder != 0) {
    close(line[0]);
    *go = line[1];
    return recorder;
  }
  close(line[1]);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  char byte;
  if (getppid() != parent || read(line[0], &byte, 1) != 1) _exit(0);
  char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
  arguments[0] = (char *)program;
  arguments[1] = "record";
  memcpy(arguments + 2, argv + 1, (size_t)argc * sizeof *argv);
  int silent = open("/dev/null", O_WRONLY);
  dup2(silent, STDOUT_FILENO);
  execvp(program, arguments);
  fprintf(stderr, "bandscope-mpi: cannot start %s: %s\n", program, strerror(errno));
  _exit(2);
}

/* Sleeps until this node's CLOCK_MONOTONIC shows so many nanoseconds. */
static void sleep_until(int64_t own_ns) {
  struct timespec due = {own_ns / 1000000000, own_ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
    ;
}

/* Waits for all ranks without keeping a CPU busy on which another may measure still. */
static void wait_for_all(void) {
  MPI_Request all;
  int done = 0;
  struct timespec again = {0, LOOK_AGAIN_MS * 1000000L};
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  while (MPI_Test(&all, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) nanosleep(&again, NULL);
}

static const char *node_name(void) {
  static char host[256];
  const char *node = getenv("SLURMD_NODENAME");
  if (node != NULL && *node != '\0') return node;
  gethostname(host, sizeof host - 1);
  return host;
}

/* The name of rank 0's clock: its node, as far as JSON holds it as it is, and its time. */
static void name_clock(char *name, size_t size) {
  snprintf(name, size, "%.200s %lld", node_name(), (long long)now_ns());
  for (char *one = name; *one != '\0'; one++)
    if (*one == '"' || *one == '\\' || (unsigned char)*one < ' ' || (unsigned char)*one > '~') *one = '_';
}

static int write_file(const char *path, const char *bytes, size_t length) {
  char under_way[PATH_BYTES + 2 * NAME_BYTES];
  snprintf(under_way, sizeof under_way, "%s.tmp", path);
  FILE *file = fopen(under_way, "w");
  int is_written = file != NULL && fwrite(bytes, 1, length, file) == length;
  if (file != NULL) is_written &= fclose(file) == 0;
  if (is_written && rename(under_way, path) == 0) return 1;
  fail("cannot write %s: %s", path, strerror(errno));
  unlink(under_way);
  return 0;
}

/* The file's bytes; an empty text where there are none. */
static char *read_file(const char *path, int *length) {
  struct stat about;
  FILE *file = fopen(path, "r");
  int is_there = file != NULL && fstat(fileno(file), &about) == 0 && about.st_size <= MOST_BYTES;
  char *bytes = malloc(is_there ? (size_t)about.st_size + 1 : 1);
  *length = is_there ? (int)fread(bytes, 1, (size_t)about.st_size, file) : 0;
  if (file != NULL) fclose(file);
  return bytes;
}

/* Makes every directory of a path of a file. */
static void make_directories(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0777);
    *slash = '/';
  }
}

/* Sends what lies in this rank's part to rank 0, which writes what it cannot see: without a shared file system.
 * Where this job did not make it, an earlier one may have: it is not sent. */
static void gather(const char *part, const char *name, int is_made) {
  char path[PATH_BYTES + NAME_BYTES];
  snprintf(path, sizeof path, "%s/%s", part, name);
  if (rank > 0) {
    int length;
    char *bytes = read_file(path, &length), turn;
    if (!is_made) length = 0;
    MPI_Recv(&turn, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(path, (int)strlen(path) + 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD);
    MPI_Send(bytes, length, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
    free(bytes);
    return;
  }
  for (int other = 1; other < ranks; other++) {
    char turn = 0;
    MPI_Status status;
    int length;
    MPI_Send(&turn, 1, MPI_CHAR, other, 3, MPI_COMM_WORLD);
    MPI_Recv(path, sizeof path, MPI_CHAR, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Probe(other, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    char *bytes = malloc((size_t)length + 1);
    MPI_Recv(bytes, length, MPI_CHAR, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (length > 0 && access(path, F_OK) != 0) {
      make_directories(path);
      write_file(path, bytes, (size_t)length);
    }
    free(bytes);
  }
}

/* Leaves clock.json; whether it could. `reference` names rank 0's clock: its node, and its time when the job began. */
static int leave_clock(const char *part, const char *reference, const struct reading readings[2]) {
  char path[PATH_BYTES + NAME_BYTES], text[2048];
  int length = snprintf(text, sizeof text, "{\"schema\": \"bandscope.job-clock/1\", \"reference\": \"%s\", \"readings\": [", reference);
  for (int i = 0; i < 2; i++)
    length += snprintf(text + length, sizeof text - (size_t)length, "%s{\"ticks\": %llu, \"reference_ns\": %lld, \"own_ns\": %lld, \"within_ns\": %.1f}",
                       i == 0 ? "" : ", ", (unsigned long long)readings[i].ticks, (long long)readings[i].reference_ns, (long long)readings[i].own_ns, readings[i].within_ns);
  length += snprintf(text + length, sizeof text - (size_t)length, "]}\n");
  snprintf(path, sizeof path, "%s/clock.json", part);
  return write_file(path, text, (size_t)length);
}

/* Whether Slurm started several tasks, and MPI takes each for a whole job: srun lacks the --mpi that connects them. */
static int is_without_manager(void) {
  const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
  return ranks == 1 && tasks != NULL && atoi(tasks) > 1;
}

/* Prints the report of the fleet; its exit status, or 2 where it does not end by itself. */
static int print_fleet(const char *program, const char *output) {
  int status = -1;
  pid_t reporter = fork();
  if (reporter == 0) {
    execlp(program, program, "fleet", output, (char *)NULL);
    fail("cannot start %s: %s", program, strerror(errno));
    _exit(2);
  }
  if (reporter < 0 || waitpid(reporter, &status, 0) != reporter) fail("cannot start a process: %s", strerror(errno));
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

int main(int argc, char **argv) {
  const char *program = getenv("BANDSCOPE"), *output = output_of(argc, argv);
  if (program == NULL || *program == '\0') program = "bandscope";
  if (output == NULL) {
    fprintf(stderr, "usage: mpirun bandscope-mpi [ARGUMENTS OF `bandscope record`] --output DIRECTORY\n");
    return 2;
  }
  int go = -1, status = -1;
  pid_t recorder = fork_recorder(program, argc, argv, &go);

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (is_without_manager()) {
    fail("srun started several tasks, but each is a job of its own to MPI: srun needs --mpi=pmi2 (MPICH) or --mpi=pmix (Open MPI)");
    MPI_Finalize();
    return 2;
  }
  struct reading readings[2];
  char reference[300] = "";
  if (rank == 0) name_clock(reference, sizeof reference);
  MPI_Bcast(reference, sizeof reference, MPI_CHAR, 0, MPI_COMM_WORLD);
  readings[0] = read_clock();
  int64_t start = now_ns() + START_AFTER_MS * 1000000LL;
  MPI_Bcast(&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  sleep_until(start - readings[0].reference_ns + readings[0].own_ns);

  if (recorder < 0 || write(go, "", 1) != 1 || waitpid(recorder, &status, 0) != recorder) fail("cannot start a process: %s", strerror(errno));
  wait_for_all();
  readings[1] = read_clock();
  char part[PATH_BYTES];
  snprintf(part, sizeof part, "%s/node=%s/task=%d", output, node_name(), rank);
  int is_recorded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  /* One rank has no clock to compare, and without a launcher no part. */
  int failed = !is_recorded || (ranks > 1 && !leave_clock(part, reference, readings));
  gather(part, "summary.json", is_recorded);
  gather(part, "clock.json", !failed);
  int all_failed;
  MPI_Allreduce(&failed, &all_failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  /* Launchers end the whole job where one rank fails: rank 0 alone says so, when it has printed the rest. */
  if (rank > 0) return 0;
  if (all_failed > 0) fprintf(stderr, "bandscope-mpi: %d of %d ranks failed to record\n", all_failed, ranks);
  if (all_failed == ranks) return 2;
  status = print_fleet(program, output);
  return all_failed > 0 || status != 0 ? 2 : 0;
}
