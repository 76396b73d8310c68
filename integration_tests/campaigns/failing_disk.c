/* Fails the Nth write, sync, rename or creation below a folder; loaded with LD_PRELOAD by campaign_kills.py.

   FAULT_BELOW   the folder, absolute
   FAULT_AT      which call fails, from 1; 0: none
   FAULT_LASTING not empty: every later one fails, too, as on a full disk, and a write that is the first
                 takes half of its data
   FAULT_ERRNO   with what
   FAULT_COUNT   a file that gets a byte for each call, so that a campaign knows how many there are */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int calls;

static int below(const char *path) {
    const char *folder = getenv("FAULT_BELOW");
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int below_fd(int fd) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static int fails(void) {
    const char *at = getenv("FAULT_AT"), *lasting = getenv("FAULT_LASTING"), *count = getenv("FAULT_COUNT");
    int number = ++calls, wanted = at ? atoi(at) : 0;
    if (count) {
        FILE *file = fopen(count, "a");
        if (file) { fputc('.', file); fclose(file); }
    }
    if (wanted && (number == wanted || (number > wanted && lasting && *lasting))) {
        errno = atoi(getenv("FAULT_ERRNO"));
        return 1;
    }
    return 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) {
    if (!below_fd(fd) || !fails()) return REAL(write)(fd, data, size);
    const char *lasting = getenv("FAULT_LASTING");
    int first = calls == atoi(getenv("FAULT_AT"));
    return lasting && *lasting && first && size > 1 ? REAL(write)(fd, data, size / 2) : -1;
}

int fsync(int fd) { return below_fd(fd) && fails() ? -1 : REAL(fsync)(fd); }

int rename(const char *from, const char *to) { return below(to) && fails() ? -1 : REAL(rename)(from, to); }

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return (flags & O_CREAT) && below(path) && fails() ? -1 : REAL(open64)(path, flags, mode);
}
