"""The tags of one run, for Python code."""

import os
from array import array

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from runfold._core.tag_table cimport (
    MAX_PLUGINS,
    STRANGE_PLUGIN,
    UNKNOWN_PLUGIN,
    Plugin,
    Tag,
    TagTable,
    find_or_add,
    keep_text,
    number_plugin,
)
from runfold._core.wire cimport Cursor

_SECRET = os.urandom(16)

# Tags are shared only if there are at most this many of them, in at most this many variants.
cdef enum:
    MOST_SHARED = 1000
    MOST_VARIANTS = 100


cdef void* duplicate(const void* data, size_t used, size_t room) except? NULL:
    """Return a copy of the first `used` bytes, in a block of `room` bytes."""
    cdef void* copied
    if data == NULL:
        return NULL
    copied = malloc(room)
    if copied == NULL:
        raise MemoryError
    memcpy(copied, data, used)
    return copied


cdef struct Dumped:
    const uint8_t* sizes    # 8 bytes each, not necessarily aligned
    int64_t sizes_left
    Cursor text


cdef int64_t next_size(Dumped* source) except -1:
    cdef int64_t size
    if source.sizes_left == 0:
        raise ValueError("the tags are cut short")
    memcpy(&size, source.sizes, 8)
    source.sizes += 8
    source.sizes_left -= 1
    if size < 0:
        raise ValueError("the tags have a negative size")
    return size


cdef Cursor next_text(Dumped* source, int64_t size) except *:
    cdef Cursor text
    if size > source.text.end - source.text.at:
        raise ValueError("the tags are cut short")
    text.at = source.text.at
    text.end = source.text.at + size
    source.text.at = text.end
    return text


cdef bytes _int64s(list numbers):
    return array("q", numbers).tobytes()


cdef bint has_equal_tags(const TagTable* one, const TagTable* other) noexcept nogil:
    """Return whether two tables have the same tags, metadata and plugins."""
    cdef const Tag* tag
    cdef const Tag* twin
    cdef size_t i
    if (
        one.size != other.size or one.plugins_size != other.plugins_size
        or one.text_size != other.text_size
        or (one.text_size and memcmp(one.text, other.text, one.text_size) != 0)
    ):
        return 0
    for i in range(one.size):
        tag, twin = &one.tags[i], &other.tags[i]
        if (
            tag.name != twin.name or tag.length != twin.length or tag.plugin != twin.plugin
            or tag.metadata != twin.metadata or tag.metadata_length != twin.metadata_length
        ):
            return 0
    return one.plugins_size == 0 or memcmp(
        one.plugins, other.plugins, one.plugins_size * sizeof(Plugin)) == 0


cdef void free_tags(TagTable* table) noexcept nogil:
    """Free the memory of a table, which must not be used afterwards."""
    free(table.tags)
    free(table.slots)
    free(table.plugins)
    free(table.text)


# Without support for the garbage collector, which could clear `lender` before `__dealloc__`. Tags
# cannot be part of a cycle.
@cython.no_gc
cdef class Tags:
    """The tags of one run, shared by the decoders of all its files.

    They are shared so that metadata in the first file applies to the whole run.
    Only one thread at a time can decode into the same tags; meanwhile, reading anything
    but the number of tags from another thread raises RuntimeError.
    """

    def __cinit__(self):
        self.table.first = -1
        cdef const unsigned char[::1] secret = _SECRET
        memcpy(self.table.secret, &secret[0], 16)

    def __dealloc__(self):
        self._free()

    cdef void _free(self) noexcept:
        if self.lender is None:
            free_tags(&self.table)

    def __len__(self):
        return self.table.size

    def names(self, Py_ssize_t start=0):
        """Return the tags from number `start` as text; bytes that are not UTF-8 are escaped.

        The list must not be modified: tags that share their memory return the same list.
        """
        cdef const Tag* tag
        cdef Py_ssize_t i
        self.check_idle()
        if self.lender is not None and start <= 0:
            if self.lender.listed is None:
                self.lender.listed = self.lender.names()
            return self.lender.listed
        found = []
        for i in range(max(start, 0), <Py_ssize_t> self.table.size):
            tag = &self.table.tags[i]
            found.append(PyUnicode_DecodeUTF8(
                <const char*> self.table.text + tag.name, tag.length, "backslashreplace"))
        return found

    def numbers(self):
        """Return the number of each name. The dict must not be modified, like the list of names."""
        if self.lender is not None:
            if self.lender.numbered is None:
                self.lender.numbered = self.lender.numbers()
            return self.lender.numbered
        return {name: number for number, name in enumerate(self.names())}

    def raw_name(self, size_t number):
        """Return the bytes of one tag, as stored."""
        cdef const Tag* tag = self._tag(number)
        return PyBytes_FromStringAndSize(<const char*> self.table.text + tag.name, tag.length)

    def metadata(self, size_t number):
        """Return the tag's first serialized SummaryMetadata, or None if no event had one."""
        cdef const Tag* tag = self._tag(number)
        if tag.plugin == UNKNOWN_PLUGIN:
            return None
        return PyBytes_FromStringAndSize(
            <const char*> self.table.text + tag.metadata, tag.metadata_length)

    def plugin(self, size_t number):
        """Return the number of the plugin in the tag's first metadata."""
        return self._tag(number).plugin

    def plugins(self):
        """Return the names of the plugins by number, '' if a number has no name."""
        cdef const Plugin* plugin
        cdef int32_t i
        self.check_idle()
        found = ["", "", "scalars", ""]
        for i in range(self.table.plugins_size):
            plugin = &self.table.plugins[i]
            found.append(PyUnicode_DecodeUTF8(
                <const char*> self.table.text + plugin.name, plugin.length, "backslashreplace"))
        return found

    def share(self, dict known not None):
        """Use the memory of equal tags in `known`, or add a copy of these tags to it.

        The runs of a sweep often have equal tags. `known` is for this method only. If one of the
        runs gets another tag later, its tags are copied first.
        """
        self.check_idle()
        if self.lender is not None or not 0 < self.table.size <= MOST_SHARED:
            return
        text = PyBytes_FromStringAndSize(<const char*> self.table.text, self.table.text_size)
        cdef Tags lender = known.get(text)
        if lender is None:
            if len(known) >= MOST_VARIANTS:
                return
            lender = known[text] = self.copy()
        elif not has_equal_tags(&self.table, &lender.table):
            return
        self._free()
        self.lender = lender
        self.table = lender.table

    cdef Tags twin(self):
        """Return equal tags, which share the memory of these if they share it already."""
        cdef Tags other
        if self.lender is None:
            return self.copy()
        other = Tags()
        other.lender = self.lender
        other.table = self.lender.table
        return other

    cdef int own_memory(self) except -1:
        """Copy shared memory, before something is added to it."""
        cdef Tags copied
        if self.lender is not None:
            copied = self.copy()
            self.table = copied.table
            # The copy gives up its memory.
            copied.lender = self.lender
            self.lender = None
        return 0

    def copy(self):
        """Return equal tags that are independent of these."""
        cdef Tags other = Tags()
        cdef const TagTable* own = &self.table
        cdef TagTable* table = &other.table
        self.check_idle()
        # The pointers are set one by one, so that each block has an owner if memory runs out.
        memcpy(table.secret, own.secret, sizeof(table.secret))
        table.first = own.first
        table.tags = <Tag*> duplicate(
            own.tags, own.size * sizeof(Tag), own.room * sizeof(Tag))
        table.size, table.room = own.size, own.room
        table.slots = <int32_t*> duplicate(
            own.slots, own.slot_room * sizeof(int32_t), own.slot_room * sizeof(int32_t))
        table.slot_room = own.slot_room
        table.plugins = <Plugin*> duplicate(
            own.plugins, MAX_PLUGINS * sizeof(Plugin), MAX_PLUGINS * sizeof(Plugin))
        table.plugins_size = own.plugins_size
        table.text = <uint8_t*> duplicate(own.text, own.text_size, own.text_room)
        table.text_size, table.text_room = own.text_size, own.text_room
        return other

    def dump(self):
        """Return the tags as bytes, from which `load` restores them."""
        cdef const Tag* tag
        cdef const Plugin* plugin
        cdef Py_ssize_t i
        self.check_idle()
        sizes = [self.table.size, self.table.plugins_size]
        texts = []
        for i in range(self.table.plugins_size):
            plugin = &self.table.plugins[i]
            sizes.append(plugin.length)
            texts.append(self._text(plugin.name, plugin.length))
        for i in range(<Py_ssize_t> self.table.size):
            tag = &self.table.tags[i]
            sizes += [tag.plugin, tag.length, tag.metadata_length]
            texts.append(self._text(tag.name, tag.length))
            texts.append(self._text(tag.metadata, tag.metadata_length))
        return b"".join([_int64s(sizes), *texts])

    @staticmethod
    def load(const uint8_t[::1] data not None):
        """Return the tags that `dump` wrote. Raises ValueError for other bytes."""
        cdef Tags tags = Tags()
        cdef TagTable* table = &tags.table
        cdef Dumped source
        cdef int64_t count, plugins, plugin
        cdef int32_t number
        cdef Cursor name, metadata
        cdef int64_t i
        if data.shape[0] < 16:
            raise ValueError("the tags are cut short")
        source.sizes = &data[0]
        source.sizes_left = data.shape[0] // 8
        count, plugins = next_size(&source), next_size(&source)
        # Each entry takes at least 8 bytes, so these products cannot overflow.
        if max(count, plugins) > data.shape[0] or plugins > MAX_PLUGINS:
            raise ValueError("the tags are cut short")
        if source.sizes_left < plugins + 3 * count:
            raise ValueError("the tags are cut short")
        source.text.at = source.sizes + (plugins + 3 * count) * 8
        source.text.end = &data[0] + data.shape[0]
        for i in range(plugins):
            name = next_text(&source, next_size(&source))
            if number_plugin(table, name) != STRANGE_PLUGIN + 1 + i:
                raise ValueError("a plugin is listed twice or cannot be stored")
        for i in range(count):
            plugin = next_size(&source)
            if plugin > STRANGE_PLUGIN + plugins:
                raise ValueError("a tag has an unknown plugin")
            name = next_text(&source, next_size(&source))
            metadata = next_text(&source, next_size(&source))
            number = find_or_add(table, name)
            if number != i:
                raise ValueError("a tag is listed twice or cannot be stored")
            table.tags[number].plugin = <int32_t> plugin
            table.tags[number].metadata_length = metadata.end - metadata.at
            if not keep_text(table, metadata, &table.tags[number].metadata):
                raise MemoryError
        if source.text.at != source.text.end:
            raise ValueError("the tags are followed by other bytes")
        return tags

    cdef bytes _text(self, size_t position, size_t length):
        if length == 0:
            return b""
        return PyBytes_FromStringAndSize(<const char*> self.table.text + position, length)

    cdef int check_idle(self) except -1:
        if self.is_busy:
            raise RuntimeError("another thread is decoding a file of the same run")
        return 0

    cdef const Tag* _tag(self, size_t number) except NULL:
        self.check_idle()
        if number >= self.table.size:
            raise IndexError(f"no tag number {number}: there are {self.table.size} tags")
        return &self.table.tags[number]
