"""Reads many small files into one buffer in one call, without the GIL.

This is the only module of the core that does I/O: for 100,000 files, the Python code around the
system calls would take several times as long as the calls.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport strlen


cdef extern from "Python.h":
    object PyUnicode_EncodeFSDefault(object text)
    int PySys_Audit(const char* event, const char* format, ...) except -1


cdef extern from "small_files.h" nogil:
    ctypedef struct rf_file_state:
        int64_t size
        int64_t mtime_ns
        int64_t ctime_ns
        uint64_t inode
        int64_t device
    enum:
        RF_OPEN_FLAGS
        RF_READ
        RF_DOES_NOT_FIT
        RF_UNUSUAL
    int rf_read_small_file(
        const char* path, uint8_t* into, size_t room, size_t most, rf_file_state* state)


cdef struct File:
    const char* path
    rf_file_state state
    int answer


def read_small_files(list paths not None, uint8_t[::1] buffer not None, size_t most):
    """Read files from their beginning, one after the other, until the buffer is full.

    Args:
        paths: the files.
        buffer: receives the content of the files, without gaps.
        most: larger files, in bytes, are not read.

    Returns:
        For each file up to the first one that does not fit, the state of the file: (size,
        mtime_ns, ctime_ns, inode, device). None for a file that Python code must read: it is
        large, not a regular file, was truncated during the call, or there was an error.
    """
    cdef tuple held = tuple(paths)
    cdef Py_ssize_t count = len(held), done = 0, i
    cdef list encoded = []
    cdef size_t room = buffer.shape[0], used = 0
    cdef uint8_t* into = &buffer[0] if room else NULL
    cdef File* file
    cdef File* files = <File*> calloc(count + 1, sizeof(File))
    if files == NULL:
        raise MemoryError
    try:
        for i in range(count):
            path = PyUnicode_EncodeFSDefault(held[i])
            encoded.append(path)
            # As `os.open` does. A hook can refuse the file, which Python code then reports.
            try:
                PySys_Audit("open", "OOi", <PyObject*> held[i], <PyObject*> None, RF_OPEN_FLAGS)
            except OSError:
                continue
            # With a NUL in its path, a file cannot exist, but one with a shorter path can.
            if strlen(PyBytes_AS_STRING(path)) == <size_t> PyBytes_GET_SIZE(path):
                files[i].path = PyBytes_AS_STRING(path)
        with nogil:
            for i in range(count):
                file = &files[i]
                file.answer = RF_UNUSUAL
                if file.path != NULL:
                    file.answer = rf_read_small_file(
                        file.path, into + used, room - used, most, &file.state)
                if file.answer == RF_DOES_NOT_FIT:
                    break
                if file.answer == RF_READ:
                    used += file.state.size
                done += 1
        return [
            (
                files[i].state.size, files[i].state.mtime_ns, files[i].state.ctime_ns,
                files[i].state.inode, files[i].state.device,
            ) if files[i].answer == RF_READ else None
            for i in range(done)
        ]
    finally:
        free(files)
