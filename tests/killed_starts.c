/* Kills its process at the KILL_AT-th call that changes a file or a folder: before the call, or, if
 * it is a write, in its middle. tests/killed_starts.py loads it with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long left;

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("KILL_AT");
    atomic_store(&left, at ? atol(at) : 0);
}

static int is_the_one(void) { return atomic_fetch_sub(&left, 1) == 1; }

static void end(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int is_file(int fd) {
    struct stat seen;
    /* stderr may be redirected to a file: the log does not count. */
    return fd > 2 && fstat(fd, &seen) == 0 && S_ISREG(seen.st_mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) {
    if (is_file(fd) && is_the_one()) {
        REAL(write)(fd, bytes, count / 2);
        end();
    }
    return REAL(write)(fd, bytes, count);
}

/* Direct I/O writes whole sectors only. */
static size_t share(size_t count) {
    return count % 512 == 0 ? count / 1024 * 512 : count / 2;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t at) {
    if (is_the_one()) {
        REAL(pwrite64)(fd, bytes, share(count), at);
        end();
    }
    return REAL(pwrite64)(fd, bytes, count, at);
}

/* Opening may create a file or truncate it. */
static mode_t mode_of(int flags, va_list rest) {
    if ((flags & (O_CREAT | O_TRUNC)) && is_the_one()) end();
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return REAL(open64)(path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return REAL(openat64)(folder, path, flags, mode);
}

#define KILLED_BEFORE(name, parameters, arguments)                                                 \
    int name parameters {                                                                          \
        if (is_the_one()) end();                                                                   \
        return REAL(name) arguments;                                                               \
    }

KILLED_BEFORE(rename, (const char *from, const char *to), (from, to))
KILLED_BEFORE(unlink, (const char *path), (path))
KILLED_BEFORE(unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
KILLED_BEFORE(rmdir, (const char *path), (path))
KILLED_BEFORE(mkdir, (const char *path, mode_t mode), (path, mode))
KILLED_BEFORE(ftruncate64, (int fd, off_t length), (fd, length))
KILLED_BEFORE(fallocate64, (int fd, int mode, off_t at, off_t length), (fd, mode, at, length))
KILLED_BEFORE(posix_fallocate64, (int fd, off_t at, off_t length), (fd, at, length))
