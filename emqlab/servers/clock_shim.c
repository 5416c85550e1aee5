/* A clock that the lab moves, preloaded into a server it starts.

   The file named by EMQLAB_CLOCK holds three 64-bit words, shared with the lab:
     0  microseconds to add to the real time
     1  the time at which the clock stands still, in microseconds since 1970; 0: it runs
     2  set here: the process that looks at this clock
   Only CLOCK_REALTIME is moved, and only for the main thread, which runs every command of ours. Durations and timeouts
   are measured on other clocks and stay real; but a helper thread may wait until a moment of this one (jemalloc's do),
   and a moment that has long gone by would never let it rest. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { OFFSET, STILL, PROCESS, WORDS };

typedef int get_time(clockid_t, struct timespec *);

static volatile int64_t *words;
static get_time *next_clock;
/* initial-exec: to ask for it allocates nothing, so that an allocator may ask for the time. */
static __thread int is_main __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void open_clock(void) {
    next_clock = (get_time *)dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("EMQLAB_CLOCK");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    is_main = 1;
    void *shared = mmap(NULL, WORDS * sizeof *words, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (shared == MAP_FAILED) return;
    words = shared;
    words[PROCESS] = getpid();
}

static int real_clock(clockid_t clock, struct timespec *now) {
    /* Other libraries may ask for the time before the constructor has run. */
    return next_clock ? next_clock(clock, now) : (int)syscall(SYS_clock_gettime, clock, now);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = real_clock(clock, now);
    if (status != 0 || clock != CLOCK_REALTIME || !words || !is_main) return status;
    int64_t still = words[STILL];
    int64_t micros = still ? still : now->tv_sec * INT64_C(1000000) + now->tv_nsec / 1000 + words[OFFSET];
    now->tv_nsec = still ? micros % 1000000 * 1000 : micros % 1000000 * 1000 + now->tv_nsec % 1000;
    now->tv_sec = micros / 1000000;
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int status = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return status;
}

time_t time(time_t *kept) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (kept) *kept = precise.tv_sec;
    return precise.tv_sec;
}
