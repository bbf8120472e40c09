"""Run a program without the features that Windows lacks: `python without_posix.py MODULE ...`.

The workflow has a job on Windows itself. This program shows on any machine that a part of
the package needs no module, function or constant that only POSIX systems have. Other packages,
which may need them, are imported first.
"""

import errno
import importlib
import os
import runpy
import shutil
import signal
import sys

MODULES = ("fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty")

# These packages have separate code for Windows, which is not tested here.
OTHERS = (
    *("asyncio", "duckdb", "fsspec", "matplotlib.pyplot", "matplotlib.backends.backend_agg"),
    *("multiprocessing.context", "numpy", "pandas", "PIL.Image", "platform", "psutil"),
    *("pyarrow.parquet", "scipy.stats", "tempfile", "tqdm"),
)

# The names marked "Availability: Unix" in Python's documentation of `os`.
OS_NAMES = """
    O_ACCMODE O_ASYNC O_CLOEXEC O_DIRECT O_DIRECTORY O_DSYNC O_NDELAY O_NOATIME O_NOCTTY
    O_NOFOLLOW O_NONBLOCK O_PATH O_RSYNC O_SYNC SEEK_DATA SEEK_HOLE WNOHANG
    chown chroot confstr copy_file_range ctermid eventfd fchdir fchmod fchown fdatasync fork forkpty
    fstatvfs get_blocking getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority
    getresuid getsid getuid getxattr initgroups killpg lchown listxattr lockf major makedev
    memfd_create minor mkfifo mknod nice openpty pathconf pidfd_open pipe2 posix_fadvise
    posix_fallocate posix_spawn pread preadv pwrite pwritev readv register_at_fork
    sched_getaffinity sched_yield sendfile set_blocking setpgid setpriority setsid setuid splice
    statvfs sync sysconf tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 waitid writev
"""
SIGNAL_NAMES = """
    ITIMER_REAL SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1
    SIGUSR2 SIGWINCH alarm pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending
    sigwait
"""

# Without this flag, Windows opens a file as text and translates line endings.
O_BINARY = 1 << 30

DIR_FD = ("dir_fd", "src_dir_fd", "dst_dir_fd")
WITH_DIR_FD = ("link", "lstat", "mkdir", "open", "rename", "replace", "stat", "unlink", "utime")


def refuse_dir_fd(name):
    """Make a function in `os` reject `dir_fd`, as on Windows."""
    real = getattr(os, name)

    def call(*positional, **named):
        if any(named.pop(option, None) is not None for option in DIR_FD):
            raise NotImplementedError(f"{name}: dir_fd unavailable on this platform")
        return real(*positional, **named)

    setattr(os, name, call)


opened_as_text: set[int] = set()


def open_as_windows_does(path, flags, mode=0o777, *, dir_fd=None, real=os.open):
    """Open a file, but not a folder, and remember whether Windows would open it as text."""
    if dir_fd is not None:
        raise NotImplementedError("open: dir_fd unavailable on this platform")
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)
    descriptor = real(path, flags & ~O_BINARY, mode)
    (opened_as_text.discard if flags & O_BINARY else opened_as_text.add)(descriptor)
    return descriptor


def refuse_text(name):
    """Make `os.read` or `os.write` fail if Runfold uses it on a file that Windows opens as text."""
    real = getattr(os, name)

    def call(descriptor, data):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if descriptor in opened_as_text and caller.startswith("runfold"):
            raise AssertionError(f"os.{name} of a file that was opened without O_BINARY")
        return real(descriptor, data)

    setattr(os, name, call)


def close(descriptor, real=os.close):
    opened_as_text.discard(descriptor)
    real(descriptor)


def remove_posix():
    """Remove everything that Windows lacks from this process."""
    for name in OTHERS:
        importlib.import_module(name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in ((os, OS_NAMES), (signal, SIGNAL_NAMES)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for name in WITH_DIR_FD:
        refuse_dir_fd(name)
    for name in ("read", "write"):
        refuse_text(name)
    os.open, os.close = open_as_windows_does, close
    os.O_BINARY = O_BINARY  # type: ignore[attr-defined]
    shutil._use_fd_functions = False  # type: ignore[attr-defined]


if __name__ == "__main__":
    remove_posix()
    module, *sys.argv[1:] = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
