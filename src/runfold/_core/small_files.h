/* Reads a small file with as few system calls as possible: open, fstat, pread and close.
 *
 * On Windows, every file counts as unusual, and Python code reads it.
 */
#ifndef RUNFOLD_SMALL_FILES_H
#define RUNFOLD_SMALL_FILES_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t size;
    int64_t mtime_ns;
    int64_t ctime_ns;
    uint64_t inode;
    int64_t device;
} rf_file_state;

/* The file has been read; it does not fit; or it needs the care of Python code. */
enum { RF_READ = 0, RF_DOES_NOT_FIT = 1, RF_UNUSUAL = 2 };

#ifdef _WIN32

#define RF_OPEN_FLAGS 0

static int rf_read_small_file(
    const char *path, uint8_t *into, size_t room, size_t most, rf_file_state *state) {
    (void) path, (void) into, (void) room, (void) most, (void) state;
    return RF_UNUSUAL;
}

#else

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK: opening must not block if a FIFO has replaced the file. */
#define RF_OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK)

#ifdef __APPLE__
#  define RF_MTIME st_mtimespec
#  define RF_CTIME st_ctimespec
#else
#  define RF_MTIME st_mtim
#  define RF_CTIME st_ctim
#endif

static int64_t rf_nanoseconds(struct timespec time) {
    return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Read a regular file of at most `most` bytes whole, up to the size that it has at first. */
static int rf_read_small_file(
    const char *path, uint8_t *into, size_t room, size_t most, rf_file_state *state) {
    struct stat status;
    int answer = RF_UNUSUAL;
    int descriptor = open(path, RF_OPEN_FLAGS);
    if (descriptor < 0)
        return RF_UNUSUAL;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 0
            && (uint64_t) status.st_size <= most) {
        size_t size = (size_t) status.st_size, done = 0;
        if (size > room) {
            answer = RF_DOES_NOT_FIT;
        } else {
            while (done < size) {
                ssize_t count = pread(descriptor, into + done, size - done, (off_t) done);
                if (count <= 0)
                    break;
                done += (size_t) count;
            }
            if (done == size) {
                state->size = status.st_size;
                state->mtime_ns = rf_nanoseconds(status.RF_MTIME);
                state->ctime_ns = rf_nanoseconds(status.RF_CTIME);
                state->inode = (uint64_t) status.st_ino;
                state->device = (int64_t) status.st_dev;
                answer = RF_READ;
            }
        }
    }
    close(descriptor);
    return answer;
}

#endif
#endif
