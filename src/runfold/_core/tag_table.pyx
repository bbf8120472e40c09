"""The tags of one run, for Python code."""

import os

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from runfold._core.tag_table cimport MAX_PLUGINS, UNKNOWN_PLUGIN, Plugin, Tag, TagTable

_SECRET = os.urandom(16)


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
        free(self.table.tags)
        free(self.table.slots)
        free(self.table.plugins)
        free(self.table.text)

    def __len__(self):
        return self.table.size

    def names(self, Py_ssize_t start=0):
        """Return the tags from number `start` as text; bytes that are not UTF-8 are escaped."""
        cdef const Tag* tag
        cdef Py_ssize_t i
        self.check_idle()
        found = []
        for i in range(max(start, 0), <Py_ssize_t> self.table.size):
            tag = &self.table.tags[i]
            found.append(PyUnicode_DecodeUTF8(
                <const char*> self.table.text + tag.name, tag.length, "backslashreplace"))
        return found

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

    cdef int check_idle(self) except -1:
        if self.is_busy:
            raise RuntimeError("another thread is decoding a file of the same run")
        return 0

    cdef const Tag* _tag(self, size_t number) except NULL:
        self.check_idle()
        if number >= self.table.size:
            raise IndexError(f"no tag number {number}: there are {self.table.size} tags")
        return &self.table.tags[number]
