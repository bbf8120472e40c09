"""Encodes plain numbers in the logging thread, for a writer to collect."""

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsDouble, PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_CheckExact
from libc.stdint cimport int64_t

import numpy as np

from runfold._core.encoder cimport EventBuffer

# The exact types that are converted with `float`, in addition to float and int.
cdef frozenset NUMPY_NUMBERS = frozenset((
    np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8,
    np.uint64, np.uint32, np.uint16, np.uint8,
))

# C11 provides this clock on every platform; the POSIX clock is missing on Windows.
cdef extern from "<time.h>" nogil:
    const int TIME_UTC
    cdef struct timespec:
        int64_t tv_sec
        long tv_nsec
    int timespec_get(timespec* at, int base)


cdef inline double now() noexcept nogil:
    """Return seconds since 1970, like time.time()."""
    cdef timespec at
    timespec_get(&at, TIME_UTC)
    return at.tv_sec + at.tv_nsec * 1e-9


cdef inline bint is_text(str tag):
    """Return whether a tag can be encoded as UTF-8; lone surrogates cannot."""
    try:
        PyUnicode_AsUTF8AndSize(tag, NULL)
    except UnicodeEncodeError:
        return False
    return True


cdef inline bint read_number(value, double* number) except -1:
    """Store a value as a number, and return whether it needs no checks.

    False for NaN, which causes a warning, and for ints that are too large, bools, arrays, tensors
    and all other types.
    """
    if PyFloat_CheckExact(value):
        number[0] = PyFloat_AS_DOUBLE(value)
    elif PyLong_CheckExact(value):
        try:
            number[0] = PyLong_AsDouble(value)
        except OverflowError:
            return False
    elif type(value) in NUMPY_NUMBERS:
        number[0] = value
    else:
        return False
    return number[0] == number[0]


cdef class Recorder:
    """A buffer of events: calls add to it, and a writer takes from it.

    Calls from several threads are serialized, and no event is lost.

    Attributes:
        is_ready: whether plain numbers can be added without calling the writer. False
            while the writer is closed or has failed, and in the child of a fork.
        limit: the number of bytes after which the writer is woken.
        last_step: the largest step at which a number was logged.
    """

    cdef EventBuffer buffer
    cdef EventBuffer spare
    cdef public bint is_ready
    cdef public size_t limit
    cdef public int64_t last_step
    cdef bint is_woken

    def __cinit__(self):
        self.buffer = EventBuffer()
        self.spare = EventBuffer()
        self.limit = 1 << 20

    @property
    def events(self):
        """The buffer for events of other kinds; each `take` replaces it."""
        return self.buffer

    @cython.critical_section
    def take(self):
        """Return the events in order; one writer at a time may write and clear them.

        Returns all events so far. If an interrupt prevented the events of the last call
        from being cleared, returns those again.
        """
        if self.spare.size == 0:
            self.buffer, self.spare = self.spare, self.buffer
            self.is_woken = False
        return self.spare

    @cython.critical_section
    cdef int put(self, tag, double value, int64_t step, double wall_time) except -1:
        """Add a number; return whether the writer has to be woken."""
        self.buffer.put_simple(tag, value, step, wall_time)
        if step > self.last_step:
            self.last_step = step
        if self.buffer.size > self.limit and (
            not self.is_woken or self.buffer.size > 16 * self.limit
        ):
            self.is_woken = True  # one call is enough, unless the writer does not respond
            return 1
        return 0


cdef class ScalarMethods:
    """The methods of a writer that log plain numbers: `add_scalar` and `log`.

    A float, an int or a NumPy scalar with a str tag and an int step goes directly to the
    recorder, in about a tenth of a microsecond. All other values, and all calls while the
    recorder is not ready, go to `record` and `record_many` of the event writer, which can
    raise. `wake` of the event writer is called when many bytes are waiting. The event writer
    is the object itself, unless `_use` sets another.
    """

    cdef readonly Recorder _recorder
    # None means the object itself; storing it here would create a reference cycle.
    cdef readonly object _event_writer

    def __cinit__(self, *args, **kwargs):
        self._recorder = Recorder()

    def _use(self, ScalarMethods event_writer not None):
        """Log through this event writer and its recorder."""
        self._event_writer = event_writer
        self._recorder = event_writer._recorder

    @property
    def last_step(self):
        """The largest step at which a number was logged."""
        return self._recorder.last_step

    @last_step.setter
    def last_step(self, int64_t step):
        self._recorder.last_step = step

    def add_scalar(
        self,
        tag,
        scalar_value,
        global_step=None,
        walltime=None,
        new_style=False,
        double_precision=False,
        display_name="",
        summary_description="",
    ):
        """Log one number: a Python number, or an array or tensor with one element.

        Args:
            tag: the name of the series.
            scalar_value: the number; TensorBoard shows it as float32.
            global_step: the step. Default: 0.
            walltime: seconds since 1970. Default: now.
            new_style: store the number as a tensor, as torch does with this flag.
            double_precision: store all digits of a float64. Runfold reads them back;
                TensorBoard shows the float32. With `new_style`, TensorBoard also reads a
                float64, but only if started with --load_fast=false.
            display_name: shown instead of the tag.
            summary_description: Markdown text, shown next to the name.
        """
        cdef double value
        cdef int64_t step
        cdef int is_huge
        if (
            self._recorder.is_ready and walltime is None
            and PyLong_CheckExact(global_step) and PyUnicode_CheckExact(tag)
            and new_style is False and double_precision is False
            and display_name == "" and summary_description == ""
            and read_number(scalar_value, &value)
        ):
            step = PyLong_AsLongLongAndOverflow(global_step, &is_huge)
            if not is_huge:
                try:
                    if self._recorder.put(tag, value, step, now()):
                        self.find_event_writer().wake()
                    return
                except UnicodeEncodeError:
                    pass  # `record` raises an error that names the tag
        if isinstance(new_style, str):  # tensorboardX has the name and description here
            display_name = new_style
            if isinstance(double_precision, str):
                summary_description = double_precision
            new_style = double_precision = False
        if new_style:
            form = "double_tensor" if double_precision else "tensor"
        else:
            form = "double" if double_precision else "simple"
        self.find_event_writer().record(
            tag, scalar_value, global_step, walltime, form, display_name, summary_description)

    def log(self, values, step=None, walltime=None):
        """Log several numbers at one step, by tag.

        The default step is 0 in the first call without a step, and increases by one with
        each further call without a step.
        """
        cdef double at
        if walltime is not None or not self._recorder.is_ready:
            self.find_event_writer().record_many(values, step, walltime)
            return
        at = now()
        # All numbers are checked before any is logged.
        if not self.put_all(values, step, "", at):
            self.find_event_writer().record_many(values, step, at)

    def _log_plain(self, values, step, str prefix not None=""):
        """Log a dict of plain numbers at one step, with a prefix for the tags.

        Returns False, and logs nothing, if a number or the step needs a check, or if the
        recorder is not ready. The caller then logs the numbers one by one.
        """
        return self._recorder.is_ready and self.put_all(values, step, prefix, now())

    cdef bint put_all(self, values, step, str prefix, double at) except -1:
        """Add the numbers of a dict; return whether all could be added. If not, add none."""
        cdef double number = 0
        cdef int64_t index
        cdef int is_huge = 0
        cdef bint is_much = False
        if type(values) is not dict or not PyLong_CheckExact(step):
            return False
        index = PyLong_AsLongLongAndOverflow(step, &is_huge)
        if is_huge or not is_text(prefix):
            return False
        for tag, value in (<dict> values).items():
            if not (PyUnicode_CheckExact(tag) and read_number(value, &number) and is_text(tag)):
                return False
        for tag, value in (<dict> values).items():
            read_number(value, &number)
            is_much |= self._recorder.put(prefix + <str> tag if prefix else tag, number, index, at)
        if is_much:
            self.find_event_writer().wake()
        return True

    cdef inline object find_event_writer(self):
        return self if self._event_writer is None else self._event_writer
