/* Disturbs a CPU in a known way, and logs what it did on clocks that bandscope does not share.
 *
 *   disturb MODE [key=value ...]
 *
 * It is written in C, apart from bandscope, on purpose: what it logs is the truth that reports are held against, and two programs
 * that share code share mistakes. A row of the log: raw ticks of the clock register at the start and at the end, CLOCK_MONOTONIC at the start and
 * at the end in ns, and the CPU time that the kernel has booked to the thread so far in ns, in which the switches to it and
 * its way to sleep are.
 *
 *   spin    every `period` us: computes for `length` us of CLOCK_MONOTONIC
 *   timer   sleeps on an absolute timer of `period` us, and does nothing else
 *   hog     computes all the time, from `delay` ms on, for `seconds`
 *   net     every `period` us: sends and receives `count` packets over the loopback interface
 *   block   every `period` us: reads `count` blocks of `file` without the page cache
 *   wake    every `period` us: wakes a process called `woken`, through a pipe, which computes for `length` us
 *   tty     every `period` us: writes `count` bytes to a terminal, which a kernel worker carries to its other end, and reads what came the time before
 *   ipi     every `period` us: reads `count` times a software event of CPU `target`, which interrupts that CPU each time
 *   become  nothing itself: takes the priority `fifo` and becomes the command after the keys
 *
 * Keys: period, length (us), count, cpu, fifo (real-time priority; 0: an ordinary task), threads, name, log, seconds, delay, file, target.
 * Several threads start `period / threads` apart. It ends after `seconds`, or by SIGTERM, with its log complete.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { NS = 1000000000, MAX_THREADS = 64, MAX_ROWS = 100000, BLOCK = 4096 };

static const char *mode = "spin", *name = "disturb", *log_path, *file = "/dev/nullb0";
static long period_us = 5000, length_us = 50, count = 1, cpu = -1, fifo, threads = 1, seconds = 60, delay_ms, target;
static volatile sig_atomic_t ended;
/* Of the terminal. */
static int other_end;

struct row { int64_t tick_from, tick_to, ns_from, ns_to, cpu_ns; };
struct thread { pthread_t id; int number; long rows, room; struct row *row; };

static void end(int signal) { (void)signal; ended = 1; }

static void die(const char *what)
{
	fprintf(stderr, "disturb: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int64_t ns_of(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * (int64_t)NS + t.tv_nsec;
}

static int64_t ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high) : : "rcx", "memory");
	return (int64_t)((uint64_t)high << 32 | low);
#elif defined(__aarch64__)
	int64_t t;
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(t) : : "memory");
	return t;
#else
#error "which clock register?"
#endif
}

static void spin_until(int64_t ns) { while (ns_of(CLOCK_MONOTONIC) < ns && !ended) ; }

/* The process that is woken: works once for each byte. */
static void woken(int fd)
{
	char byte;

	prctl(PR_SET_NAME, "woken");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!ended && read(fd, &byte, 1) == 1)
		spin_until(ns_of(CLOCK_MONOTONIC) + length_us * 1000);
	_exit(0);
}

static int open_for(const char *what, struct sockaddr_in *here)
{
	int fd;
	if (!strcmp(what, "wake")) {
		int ends[2];
		pid_t child = pipe(ends) ? -1 : fork();
		if (child < 0)
			die("a process behind a pipe");
		if (!child) {
			close(ends[1]);
			woken(ends[0]);
		}
		fd = ends[1];
	} else if (!strcmp(what, "tty")) {
		struct termios modes;
		fd = posix_openpt(O_RDWR | O_NOCTTY);
		if (fd < 0 || grantpt(fd) || unlockpt(fd) || (other_end = open(ptsname(fd), O_RDWR | O_NOCTTY | O_NONBLOCK)) < 0 || tcgetattr(other_end, &modes))
			die("a terminal");
		/* Not raw: the worker looks at each byte, which takes it a while. */
		modes.c_lflag &= ~(ECHO | ICANON);
		if (tcsetattr(other_end, TCSANOW, &modes))
			die("modes of a terminal");
	} else if (!strcmp(what, "net")) {
		socklen_t size = sizeof *here;
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		memset(here, 0, sizeof *here);
		here->sin_family = AF_INET;
		here->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		if (fd < 0 || bind(fd, (struct sockaddr *)here, size) || getsockname(fd, (struct sockaddr *)here, &size))
			die("a socket of the loopback interface");
	} else if (!strcmp(what, "block")) {
		fd = open(file, O_RDONLY | O_DIRECT);
		if (fd < 0)
			die(file);
	} else if (!strcmp(what, "ipi")) {
		struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_CPU_CLOCK };
		fd = syscall(SYS_perf_event_open, &event, -1, (int)target, -1, 0);
		if (fd < 0)
			die("perf_event_open of a software event");
	} else {
		fd = -1;
	}
	return fd;
}

static void disturb_once(int fd, const struct sockaddr_in *here, void *buffer)
{
	if (!strcmp(mode, "spin"))
		spin_until(ns_of(CLOCK_MONOTONIC) + length_us * 1000);
	if (!strcmp(mode, "tty")) {
		while (read(other_end, buffer, BLOCK) > 0)
			;
		if (write(fd, buffer, count) != count)
			die("writing to a terminal");
		return;
	}
	for (long n = 0; fd >= 0 && n < count; n++) {
		ssize_t done;
		if (!strcmp(mode, "net")) {
			done = sendto(fd, buffer, 64, 0, (const struct sockaddr *)here, sizeof *here);
			if (done == 64)
				done = recv(fd, buffer, 64, 0);
		} else if (!strcmp(mode, "wake")) {
			done = write(fd, buffer, 1);
		} else if (!strcmp(mode, "block")) {
			done = pread(fd, buffer, BLOCK, n * BLOCK);
		} else {
			done = read(fd, buffer, 8);
		}
		if (done <= 0 && errno != EINTR)
			die("disturbing");
	}
}

static void take_priority(void)
{
	struct sched_param priority = { .sched_priority = (int)fifo };
	if (fifo && sched_setscheduler(0, SCHED_FIFO, &priority))
		die("sched_setscheduler");
}

static void *run(void *argument)
{
	struct thread *self = argument;
	struct sockaddr_in here;
	void *buffer;
	int fd;
	char thread_name[16];

	if (posix_memalign(&buffer, BLOCK, BLOCK))
		die("memory");
	memset(buffer, 'x', BLOCK);
	snprintf(thread_name, sizeof thread_name, threads > 1 ? "%.11s.%02d" : "%.15s", name, self->number);
	prctl(PR_SET_NAME, thread_name);
	if (cpu >= 0) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof set, &set))
			die("sched_setaffinity");
	}
	take_priority();
	/* What it starts has its CPU and its priority. */
	fd = open_for(mode, &here);
	if (!strcmp(mode, "hog")) {
		struct row *row = &self->row[self->rows++];
		struct timespec delay = { .tv_sec = delay_ms / 1000, .tv_nsec = delay_ms % 1000 * 1000000 };
		clock_nanosleep(CLOCK_MONOTONIC, 0, &delay, NULL);
		*row = (struct row){ .tick_from = ticks(), .ns_from = ns_of(CLOCK_MONOTONIC) };
		/* By its own clock: at a real-time priority nobody else may come to run, not even the timer of a signal. */
		spin_until(row->ns_from + (int64_t)seconds * NS);
		row->tick_to = ticks();
		row->ns_to = ns_of(CLOCK_MONOTONIC);
		row->cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID);
		return NULL;
	}
	/* A whole second from now, so that all threads know the same grid. */
	int64_t period = period_us * 1000, next = (ns_of(CLOCK_MONOTONIC) / NS + 1) * NS + self->number * period / threads;
	while (!ended && self->rows < self->room) {
		struct timespec until = { .tv_sec = next / NS, .tv_nsec = next % NS };
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
			continue;
		struct row *row = &self->row[self->rows++];
		row->tick_from = ticks();
		row->ns_from = ns_of(CLOCK_MONOTONIC);
		disturb_once(fd, &here, buffer);
		row->ns_to = ns_of(CLOCK_MONOTONIC);
		row->tick_to = ticks();
		row->cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID);
		/* What is overslept is left out, not made up for. */
		for (next += period; next < row->ns_to; next += period)
			;
	}
	return NULL;
}

static void take(const char *argument)
{
	static const struct { const char *key; long *number; const char **text; } keys[] = {
		{ "period", &period_us, 0 }, { "length", &length_us, 0 }, { "count", &count, 0 }, { "cpu", &cpu, 0 },
		{ "fifo", &fifo, 0 }, { "threads", &threads, 0 }, { "seconds", &seconds, 0 }, { "delay", &delay_ms, 0 }, { "target", &target, 0 },
		{ "name", 0, &name }, { "log", 0, &log_path }, { "file", 0, &file },
	};
	const char *value = strchr(argument, '=');
	for (size_t n = 0; value && n < sizeof keys / sizeof *keys; n++) {
		size_t length = value - argument;
		if (strlen(keys[n].key) == length && !strncmp(keys[n].key, argument, length)) {
			if (keys[n].number)
				*keys[n].number = atol(value + 1);
			else
				*keys[n].text = value + 1;
			return;
		}
	}
	fprintf(stderr, "disturb: %s: expected key=value with a key that the head of disturb.c lists\n", argument);
	exit(2);
}

int main(int arguments, char **argument)
{
	static struct thread thread[MAX_THREADS];
	struct sigaction action = { .sa_handler = end };

	if (arguments < 2) {
		fprintf(stderr, "usage: disturb spin|timer|hog|net|block|wake|tty|ipi|become [key=value ...] [COMMAND]\n");
		return 2;
	}
	mode = argument[1];
	for (int n = 2; n < arguments; n++) {
		if (!strcmp(mode, "become") && !strchr(argument[n], '=')) {
			take_priority();
			execvp(argument[n], argument + n);
			die(argument[n]);
		}
		take(argument[n]);
	}
	if (threads < 1 || threads > MAX_THREADS || period_us < 1)
		die("threads or period");
	if (!strcmp(mode, "tty") && (threads > 1 || count > BLOCK))
		die("a terminal takes one thread and 4096 bytes at a time");
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	/* Nothing may run on: whatever becomes of who started it, it ends by itself. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	alarm(seconds + delay_ms / 1000 + 1);
	prctl(PR_SET_NAME, name);
	sigset_t all, before;
	sigfillset(&all);
	for (int n = 0; n < threads; n++) {
		/* Touched now, so that no page fault falls into what is measured: not with zeros, as compilers turn malloc and memset(0) into
		 * calloc, whose pages are touched one each 102.4 rows. bandscope found that period in its own truth. */
		long room = MAX_ROWS / threads;
		thread[n] = (struct thread){ .number = n, .room = room, .row = malloc(room * sizeof(struct row)) };
		if (!thread[n].row)
			die("memory");
		memset(thread[n].row, 1, room * sizeof(struct row));
		pthread_sigmask(SIG_SETMASK, &all, &before);
		if (pthread_create(&thread[n].id, NULL, run, &thread[n]))
			die("a thread");
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	while (!ended)
		pause();
	for (int n = 0; n < threads; n++)
		pthread_join(thread[n].id, NULL);
	FILE *log = log_path ? fopen(log_path, "w") : stdout;
	if (!log)
		die(log_path);
	fprintf(log, "thread\ttick_from\ttick_to\tns_from\tns_to\tcpu_ns\n");
	for (int n = 0; n < threads; n++)
		for (long r = 0; r < thread[n].rows; r++)
			fprintf(log, "%d\t%lld\t%lld\t%lld\t%lld\t%lld\n", n, (long long)thread[n].row[r].tick_from,
				(long long)thread[n].row[r].tick_to, (long long)thread[n].row[r].ns_from,
				(long long)thread[n].row[r].ns_to, (long long)thread[n].row[r].cpu_ns);
	return fclose(log) ? 2 : 0;
}
