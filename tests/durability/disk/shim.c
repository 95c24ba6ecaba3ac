/* Between a program and its disk: writes down what it writes and syncs, and lets syncs fail.
 *
 * SHIM_UNDER  only files whose path begins so
 * SHIM_LOG    every write, truncation, sync and removal is appended to this file, in order, with its bytes
 * SHIM_EIO    while this file exists, every sync fails with EIO, and nothing is synced
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct record {
    char kind; /* w: write, t: truncate, s: sync, u: unlink */
    char unused[3];
    uint32_t named;
    int64_t at;
    int64_t length;
};

static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static int ours(int fd, char *path, size_t room) {
    const char *under = getenv("SHIM_UNDER");
    char link[64];
    if (!under) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, room - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, under, strlen(under)) == 0;
}

static void note(char kind, const char *path, int64_t at, const void *bytes, int64_t length) {
    static int log = -1;
    const char *name = getenv("SHIM_LOG");
    if (!name) return;
    if (log < 0) log = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct record head = {.kind = kind, .named = strlen(path), .at = at, .length = length};
    syscall(SYS_write, log, &head, sizeof head);
    syscall(SYS_write, log, path, head.named);
    if (bytes) syscall(SYS_write, log, bytes, length);
}

static ssize_t written(int fd, const void *bytes, size_t length, int64_t at) {
    char path[4096];
    int noted = ours(fd, path, sizeof path);
    if (noted) pthread_mutex_lock(&order);
    int64_t where = at >= 0 ? at : noted ? lseek(fd, 0, SEEK_END) : 0;
    ssize_t done = at >= 0 ? syscall(SYS_pwrite64, fd, bytes, length, at) : syscall(SYS_write, fd, bytes, length);
    int error = errno;
    if (noted && done > 0) note('w', path, where, bytes, done);
    if (noted) pthread_mutex_unlock(&order);
    errno = error;
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return written(fd, bytes, length, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return written(fd, bytes, length, at); }
ssize_t write(int fd, const void *bytes, size_t length) { return written(fd, bytes, length, -1); }

static int truncated(int fd, int64_t length) {
    char path[4096];
    int noted = ours(fd, path, sizeof path);
    if (noted) pthread_mutex_lock(&order);
    int done = syscall(SYS_ftruncate, fd, length);
    if (noted && done == 0) note('t', path, 0, NULL, length);
    if (noted) pthread_mutex_unlock(&order);
    return done;
}

int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off64_t length) { return truncated(fd, length); }

static int synced(int fd, long call) {
    char path[4096];
    const char *failing = getenv("SHIM_EIO");
    int noted = ours(fd, path, sizeof path);
    if (noted && failing && syscall(SYS_faccessat, AT_FDCWD, failing, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    if (noted) pthread_mutex_lock(&order);
    int done = noted && getenv("SHIM_LOG") ? 0 : syscall(call, fd); /* what is played back later needs no disk */
    if (noted && done == 0) note('s', path, 0, NULL, 0);
    if (noted) pthread_mutex_unlock(&order);
    return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int unlink(const char *path) {
    const char *under = getenv("SHIM_UNDER");
    int noted = under && strncmp(path, under, strlen(under)) == 0;
    if (noted) pthread_mutex_lock(&order);
    int done = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    if (noted && done == 0) note('u', path, 0, NULL, 0);
    if (noted) pthread_mutex_unlock(&order);
    return done;
}
