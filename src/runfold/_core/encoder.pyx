"""Encodes event records in memory, byte for byte as protobuf and TensorBoard write them."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsLongLong
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc, realloc

from runfold._core.checksum cimport rf_crc32c_init

rf_crc32c_init()

cdef size_t LARGEST = <size_t> (<size_t> -1 >> 1)  # no Python object is larger
cdef size_t FIRST_CAPACITY = 4096


cdef struct Tag:
    const uint8_t* utf8
    size_t size


cdef struct Form:
    # A scalar's value message is: tag, head, the number, tail.
    const uint8_t* head
    size_t head_size
    NumberSize number_size
    const uint8_t* tail
    size_t tail_size


cdef const char* SCALARS = b"\x4a\x0b\x0a\x09\x0a\x07scalars"
cdef Form SIMPLE_FORM = Form(<const uint8_t*> b"\x15", 1, SINGLE, NULL, 0)
cdef Form DOUBLE_FORM = Form(<const uint8_t*> b"\x15", 1, BOTH, NULL, 0)
# float_val and double_val, packed, in a tensor of DT_FLOAT and DT_DOUBLE.
cdef Form TENSOR_FORM = Form(
    <const uint8_t*> b"\x42\x08\x08\x01\x2a\x04", 6, SINGLE, <const uint8_t*> SCALARS, 13)
cdef Form DOUBLE_TENSOR_FORM = Form(
    <const uint8_t*> b"\x42\x0c\x08\x02\x32\x08", 6, DOUBLE, <const uint8_t*> SCALARS, 13)

FLOAT64_FIELD = VALUE_FLOAT64 >> 3

# The maximum size of a scalar without its tag: three nested lengths, then a tensor.
cdef size_t SCALAR_ROOM = EVENT_ROOM + 3 * (1 + MAX_VARINT) + 6 + DOUBLE + 13


cdef Form* find_form(str form) except NULL:
    if form == "simple":
        return &SIMPLE_FORM
    if form == "double":
        return &DOUBLE_FORM
    if form == "tensor":
        return &TENSOR_FORM
    if form == "double_tensor":
        return &DOUBLE_TENSOR_FORM
    raise ValueError(
        f"form must be 'simple', 'double', 'tensor' or 'double_tensor', not {form!r}")


cdef inline Tag read_tag(object tag) except *:
    """Return the UTF-8 of a tag, which Python caches in the string: encoded once, never copied."""
    cdef Tag out
    cdef Py_ssize_t size
    if not PyUnicode_Check(tag):
        raise TypeError(f"a tag must be a str, not {type(tag).__name__}")
    out.utf8 = <const uint8_t*> PyUnicode_AsUTF8AndSize(tag, &size)
    out.size = <size_t> size
    return out


cdef inline const uint8_t* first(const uint8_t[::1] data) noexcept:
    return &data[0] if data.shape[0] else NULL


cdef bytes varint(uint64_t value):
    cdef uint8_t[MAX_VARINT] out
    return (<char*> out)[:put_varint(out, value) - out]


cdef inline uint8_t* put_scalar(
    uint8_t* record, const Form* form, Tag tag, double value, int64_t step, double wall_time
) noexcept nogil:
    """Write one framed event with one scalar."""
    cdef uint8_t* at = put_event_head(record + HEADER_SIZE, step, wall_time)
    cdef size_t size = form.head_size + form.number_size + form.tail_size
    if tag.size:
        size += 1 + varint_size(tag.size) + tag.size
    at[0] = 0x2A  # Event.summary
    at = put_varint(at + 1, 1 + varint_size(size) + size)
    at[0] = 0x0A  # Summary.value
    at = put_varint(at + 1, size)
    if tag.size:
        at[0] = 0x0A
        at = put_raw(put_varint(at + 1, tag.size), tag.utf8, tag.size)
    at = put_raw(at, form.head, form.head_size)
    at = put_number(at, form.number_size, value)
    at = put_raw(at, form.tail, form.tail_size)
    return close_record(record, at)


cdef int put_form(
    EventBuffer buffer, const Form* form, object tag, double value, object step, double wall_time
) except -1:
    """Append an event with one scalar; the caller holds the buffer's lock."""
    cdef Tag name = read_tag(tag)
    cdef int64_t index = PyLong_AsLongLong(step)
    cdef uint8_t* at = buffer.room(SCALAR_ROOM + name.size)
    buffer.size = put_scalar(at, form, name, value, index, wall_time) - buffer.data
    return 0


@cython.final
cdef class EventBuffer:
    """A growing buffer of framed events; get them with `bytes(buffer)` or `file.write(buffer)`.

    A call that raises leaves the buffer unchanged. Like a bytearray, the buffer
    cannot change while a memoryview of it exists. Calls from several threads are
    serialized; events of two calls never mix.
    """

    def __cinit__(self):
        self.data = <uint8_t*> malloc(FIRST_CAPACITY)
        if self.data == NULL:
            raise MemoryError
        self.capacity = FIRST_CAPACITY

    def __dealloc__(self):
        free(self.data)

    def __len__(self):
        return <Py_ssize_t> self.size

    def __getbuffer__(self, Py_buffer* view, int flags):
        with cython.critical_section(self):
            PyBuffer_FillInfo(view, self, self.data, <Py_ssize_t> self.size, 1, flags)
            self.exports += 1

    def __releasebuffer__(self, Py_buffer* view):
        with cython.critical_section(self):
            self.exports -= 1

    @cython.critical_section
    def getvalue(self):
        """Return a copy of all records so far."""
        return PyBytes_FromStringAndSize(<char*> self.data, <Py_ssize_t> self.size)

    @cython.critical_section
    def clear(self):
        """Remove all records; the memory is kept for the next ones."""
        self.room(0)
        self.size = 0

    cdef uint8_t* room(self, size_t most) except NULL:
        """Return where to write up to `most` bytes. The caller then sets `size`."""
        cdef size_t capacity
        cdef uint8_t* data
        if self.exports:
            raise BufferError("the buffer cannot change while a memoryview of it exists")
        if most > self.capacity - self.size:
            if most > LARGEST - self.size:
                raise MemoryError
            capacity = self.size + most
            if self.capacity <= LARGEST // 2 and capacity < 2 * self.capacity:
                capacity = 2 * self.capacity
            data = <uint8_t*> realloc(self.data, capacity)
            if data == NULL:
                raise MemoryError
            self.data = data
            self.capacity = capacity
        return self.data + self.size

    cdef int adopt(self, uint8_t* block, size_t size, size_t capacity) except -1:
        """Append `block`, allocated by malloc, and take ownership of it even if this raises."""
        cdef uint8_t* at
        with cython.critical_section(self):
            if self.size == 0 and self.exports == 0:
                free(self.data)
                self.data, self.size, self.capacity = block, size, capacity
                return 0
            try:
                at = self.room(size)
                self.size = put_raw(at, block, size) - self.data
            finally:
                free(block)
        return 0

    @cython.critical_section
    def scalar(self, tag, double value, step, double wall_time):
        """Append a scalar as torch and TensorFlow 1 do: a float32 in `simple_value`."""
        self.put_simple(tag, value, PyLong_AsLongLong(step), wall_time)

    cdef int put_simple(self, object tag, double value, int64_t step, double wall_time) except -1:
        cdef Tag name = read_tag(tag)
        cdef uint8_t* at = self.room(SCALAR_ROOM + name.size)
        self.size = put_scalar(at, &SIMPLE_FORM, name, value, step, wall_time) - self.data
        return 0

    @cython.critical_section
    def scalar_double(self, tag, double value, step, double wall_time):
        """Append a scalar as float32 in `simple_value`, and as float64 in Runfold's own field."""
        put_form(self, &DOUBLE_FORM, tag, value, step, wall_time)

    @cython.critical_section
    def scalar_tensor(self, tag, double value, step, double wall_time):
        """Append a scalar as torch does with `new_style`: a float32 in `float_val`."""
        put_form(self, &TENSOR_FORM, tag, value, step, wall_time)

    @cython.critical_section
    def scalar_double_tensor(self, tag, double value, step, double wall_time):
        """Append a scalar as torch does with `new_style` doubles: a float64 in `double_val`."""
        put_form(self, &DOUBLE_TENSOR_FORM, tag, value, step, wall_time)

    def scalars(
        self,
        tag,
        const int64_t[::1] steps not None,
        const double[::1] wall_times not None,
        const double[::1] values not None,
        str form not None="simple",
    ):
        """Append one event per point of one series."""
        cdef Py_ssize_t n = steps.shape[0]
        if wall_times.shape[0] != n or values.shape[0] != n:
            raise ValueError(
                f"steps, wall_times and values must have equal lengths, got {n},"
                f" {wall_times.shape[0]} and {values.shape[0]}"
            )
        if n:
            self.put_table((tag,), n, &steps[0], &wall_times[0], &values[0], form)
        else:
            self.put_table((tag,), 0, NULL, NULL, NULL, form)

    def table(
        self,
        tags,
        const int64_t[::1] steps not None,
        const double[::1] wall_times not None,
        const double[:, ::1] values not None,
        str form not None="simple",
    ):
        """Append `values[i, j]` at `steps[i]` under `tags[j]`, row by row as in a training loop.

        Same as `for i ...: for j ...: scalar(tags[j], values[i, j], steps[i],
        wall_times[i])`.
        """
        cdef Py_ssize_t n = steps.shape[0]
        if PyUnicode_Check(tags):
            raise TypeError("tags must be a sequence of str, not a single str")
        cdef tuple names = tuple(tags)
        if wall_times.shape[0] != n or values.shape[0] != n or values.shape[1] != len(names):
            raise ValueError(
                f"{n} steps, {wall_times.shape[0]} wall times and {len(names)} tags"
                f" do not match {values.shape[0]} rows of {values.shape[1]} values"
            )
        if n and names:
            self.put_table(names, n, &steps[0], &wall_times[0], &values[0, 0], form)
        else:
            self.put_table(names, 0, NULL, NULL, NULL, form)

    cdef int put_table(
        self, tuple tags, Py_ssize_t n, const int64_t* steps, const double* wall_times,
        const double* values, str form
    ) except -1:
        # The records go to a separate block, because without the GIL another thread can
        # write to the buffer at the same time.
        cdef const Form* layout = find_form(form)
        cdef Py_ssize_t i, j, width = len(tags)
        cdef size_t row = 0
        cdef uint8_t* block = NULL
        cdef uint8_t* at
        cdef Tag* names = <Tag*> malloc(width * sizeof(Tag) + 1)
        if names == NULL:
            raise MemoryError
        try:
            for j in range(width):
                names[j] = read_tag(tags[j])
                if names[j].size > LARGEST - SCALAR_ROOM - row:
                    raise MemoryError
                row += SCALAR_ROOM + names[j].size
            if n == 0 or width == 0:
                return 0
            if <size_t> n > LARGEST // row:
                raise MemoryError
            block = <uint8_t*> malloc(n * row)
            if block == NULL:
                raise MemoryError
            at = block
            with nogil:
                for i in range(n):
                    for j in range(width):
                        at = put_scalar(
                            at, layout, names[j], values[i * width + j], steps[i], wall_times[i])
        finally:
            free(names)
        return self.adopt(block, at - block, n * row)

    def file_version(self, double wall_time):
        """Append the first event of every event file."""
        self.put_field(0x1A, b"", b"brain.Event:2", 0, wall_time)

    def session_start(self, step, double wall_time):
        """Append a restart marker: everything logged so far at or after `step` is void."""
        self.put_field(0x3A, b"", b"\x08\x01", step, wall_time)

    def value(self, const uint8_t[::1] message not None, step, double wall_time):
        """Append an event with one serialized `Summary.Value`."""
        self.put_field(0x2A, b"\x0a" + varint(message.shape[0]), message, step, wall_time)

    def summary(self, messages, step, double wall_time):
        """Append one event with several serialized `Summary.Value` messages."""
        cdef list parts = []
        for message in messages:
            parts += [b"\x0a", varint(memoryview(message).nbytes), message]
        self.put_field(0x2A, b"", b"".join(parts), step, wall_time)

    def field(
        self, uint8_t number, const uint8_t[::1] message not None, step, double wall_time
    ):
        """Append an event with one serialized message in field `number`, from 1 to 15."""
        if not 0 < number < 16:
            raise ValueError(f"the field number must be from 1 to 15, not {number}")
        self.put_field(number << 3 | 2, b"", message, step, wall_time)

    def graph(self, const uint8_t[::1] graph_def not None, double wall_time):
        """Append a serialized `GraphDef`."""
        self.put_field(0x22, b"", graph_def, 0, wall_time)

    def run_metadata(self, tag, const uint8_t[::1] metadata not None, step, double wall_time):
        """Append a serialized `RunMetadata` under a tag."""
        cdef Tag name = read_tag(tag)
        cdef bytes head = b""
        if name.size:
            head = b"\x0a" + varint(name.size) + (<const char*> name.utf8)[:name.size]
        if metadata.shape[0]:
            head += b"\x12" + varint(metadata.shape[0])
        self.put_field(0x42, head, metadata, step, wall_time)

    @cython.critical_section
    def event(self, const uint8_t[::1] payload not None):
        """Append any serialized `Event` unchanged."""
        cdef size_t size = payload.shape[0]
        cdef uint8_t* record = self.room(HEADER_SIZE + FOOTER_SIZE + size)
        cdef uint8_t* end = put_raw(record + HEADER_SIZE, first(payload), size)
        self.size = close_record(record, end) - self.data

    cdef int put_field(
        self, uint8_t key, bytes head, const uint8_t[::1] body, step, double wall_time
    ) except -1:
        """Append an event with an additional field under `key`: `head` followed by `body`."""
        cdef size_t size = <size_t> len(head) + <size_t> body.shape[0]
        cdef int64_t index = PyLong_AsLongLong(step)
        cdef uint8_t* record
        cdef uint8_t* at
        with cython.critical_section(self):
            record = self.room(EVENT_ROOM + 1 + MAX_VARINT + size)
            at = put_event_head(record + HEADER_SIZE, index, wall_time)
            at[0] = key
            at = put_varint(at + 1, size)
            at = put_raw(at, PyBytes_AS_STRING(head), len(head))
            at = put_raw(at, first(body), body.shape[0])
            self.size = close_record(record, at) - self.data
        return 0


def frame(const uint8_t[::1] payload not None):
    """Return one TFRecord record: length, its checksum, `payload`, its checksum."""
    cdef size_t size = payload.shape[0]
    cdef bytes out = PyBytes_FromStringAndSize(NULL, HEADER_SIZE + FOOTER_SIZE + size)
    cdef uint8_t* record = <uint8_t*> PyBytes_AS_STRING(out)
    close_record(record, put_raw(record + HEADER_SIZE, first(payload), size))
    return out
