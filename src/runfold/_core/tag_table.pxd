"""The tags of one run, numbered by first appearance.

A training loop logs the same tags in the same order at every step. Therefore each
tag remembers its last successor, and the usual look-up is a single comparison with
that guess; only a wrong guess needs hashing.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy

from runfold._core.wire cimport Cursor

# Plugin numbers with a special meaning; other plugins are numbered after STRANGE_PLUGIN.
cdef enum:
    UNKNOWN_PLUGIN = 0      # no metadata seen yet
    NO_PLUGIN = 1           # metadata without a plugin
    SCALARS_PLUGIN = 2
    STRANGE_PLUGIN = 3      # a plugin beyond the maximum number
    MAX_PLUGINS = 32        # TensorBoard has two dozen

cdef struct Plugin:
    size_t name             # position of its bytes in `text`
    size_t length

cdef struct Tag:
    size_t name             # position of its bytes in `text`
    size_t length
    uint64_t hash
    int32_t successor
    int32_t plugin
    size_t metadata         # position of its SummaryMetadata in `text`
    size_t metadata_length

cdef struct TagTable:
    Tag* tags
    size_t size
    size_t room
    int32_t* slots          # open addressing; -1 is free; the size is a power of two
    size_t slot_room
    Plugin* plugins         # room for MAX_PLUGINS, or NULL: most runs have none
    int32_t plugins_size    # number of entries in `plugins`
    uint8_t* text           # names and metadata, back to back
    size_t text_size
    size_t text_room
    uint64_t[2] secret
    int32_t first           # guess for the first tag of a file


cdef inline uint64_t rotate(uint64_t word, int bits) noexcept nogil:
    return (word << bits) | (word >> (64 - bits))


cdef inline void sip_round(uint64_t* v) noexcept nogil:
    v[0] += v[1]
    v[1] = rotate(v[1], 13) ^ v[0]
    v[0] = rotate(v[0], 32)
    v[2] += v[3]
    v[3] = rotate(v[3], 16) ^ v[2]
    v[0] += v[3]
    v[3] = rotate(v[3], 21) ^ v[0]
    v[2] += v[1]
    v[1] = rotate(v[1], 17) ^ v[2]
    v[2] = rotate(v[2], 32)


cdef inline uint64_t keyed_hash(
    const uint64_t* secret, const uint8_t* data, size_t size
) noexcept nogil:
    """SipHash-1-3, so that no log can force all its tags into one slot."""
    cdef uint64_t[4] v
    cdef uint64_t word
    cdef size_t at = 0
    v[0] = secret[0] ^ <uint64_t> 0x736F6D6570736575
    v[1] = secret[1] ^ <uint64_t> 0x646F72616E646F6D
    v[2] = secret[0] ^ <uint64_t> 0x6C7967656E657261
    v[3] = secret[1] ^ <uint64_t> 0x7465646279746573
    while size - at >= 8:
        memcpy(&word, data + at, 8)
        v[3] ^= word
        sip_round(v)
        v[0] ^= word
        at += 8
    word = <uint64_t> size << 56
    if size > at:
        memcpy(&word, data + at, size - at)
    v[3] ^= word
    sip_round(v)
    v[0] ^= word
    v[2] ^= 0xFF
    sip_round(v)
    sip_round(v)
    sip_round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


cdef inline bint has_name(const TagTable* table, int32_t tag, Cursor name) noexcept nogil:
    cdef const Tag* entry = &table.tags[tag]
    cdef size_t length = name.end - name.at
    if entry.length != length:
        return 0
    # A missing tag is the same as an empty one, and has no bytes to point to.
    return length == 0 or memcmp(table.text + entry.name, name.at, length) == 0


cdef inline bint keep_text(TagTable* table, Cursor bytes_, size_t* where) noexcept nogil:
    """Append bytes to the text and set their position; 0 when out of memory."""
    cdef size_t length = bytes_.end - bytes_.at
    cdef size_t room = table.text_room
    cdef void* grown
    if length > room - table.text_size:
        if length > (<size_t> -1) // 4 - room:
            return 0
        room = (room + length) * 2 if room else length + 64
        grown = realloc(table.text, room)
        if grown == NULL:
            return 0
        table.text = <uint8_t*> grown
        table.text_room = room
    if length:
        memcpy(table.text + table.text_size, bytes_.at, length)
    where[0] = table.text_size
    table.text_size += length
    return 1


cdef inline bint grow_slots(TagTable* table) noexcept nogil:
    cdef size_t room = table.slot_room * 2 if table.slot_room else 32
    cdef int32_t* slots = <int32_t*> calloc(room, sizeof(int32_t))
    cdef size_t i, slot
    if slots == NULL:
        return 0
    for i in range(room):
        slots[i] = -1
    for i in range(table.size):
        slot = table.tags[i].hash & (room - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (room - 1)
        slots[slot] = <int32_t> i
    free(table.slots)
    table.slots = slots
    table.slot_room = room
    return 1


cdef inline int32_t find_or_add(TagTable* table, Cursor name) noexcept nogil:
    """Return the number of a tag, new or known; -1 when out of memory."""
    cdef uint64_t hashed = keyed_hash(table.secret, name.at, name.end - name.at)
    cdef size_t slot, room
    cdef int32_t tag
    cdef void* grown
    if (table.size + 1) * 2 > table.slot_room and not grow_slots(table):
        return -1
    slot = hashed & (table.slot_room - 1)
    while table.slots[slot] >= 0:
        tag = table.slots[slot]
        if table.tags[tag].hash == hashed and has_name(table, tag, name):
            return tag
        slot = (slot + 1) & (table.slot_room - 1)
    if table.size == 0x7FFFFFFF:
        return -1
    if table.size == table.room:
        room = table.room * 2 if table.room else 8
        grown = realloc(table.tags, room * sizeof(Tag))
        if grown == NULL:
            return -1
        table.tags = <Tag*> grown
        table.room = room
    tag = <int32_t> table.size
    if not keep_text(table, name, &table.tags[tag].name):
        return -1
    table.tags[tag].length = name.end - name.at
    table.tags[tag].hash = hashed
    table.tags[tag].successor = -1
    table.tags[tag].plugin = UNKNOWN_PLUGIN
    table.tags[tag].metadata = 0
    table.tags[tag].metadata_length = 0
    table.slots[slot] = tag
    table.size += 1
    return tag


cdef inline int32_t next_tag(TagTable* table, int32_t previous, Cursor name) noexcept nogil:
    """Return the number of the tag that follows `previous` (-1 at the start of a file)."""
    cdef int32_t guess = table.tags[previous].successor if previous >= 0 else table.first
    if guess >= 0 and has_name(table, guess, name):
        return guess
    guess = find_or_add(table, name)
    if guess >= 0:
        if previous >= 0:
            table.tags[previous].successor = guess
        else:
            table.first = guess
    return guess


cdef inline int32_t number_plugin(TagTable* table, Cursor name) noexcept nogil:
    """Return the number of a plugin, new or known; -1 when out of memory."""
    cdef size_t length = name.end - name.at
    cdef const Plugin* plugin
    cdef int32_t i
    if length == 0:
        return NO_PLUGIN
    if length == 7 and memcmp(name.at, <const char*> b"scalars", 7) == 0:
        return SCALARS_PLUGIN
    for i in range(table.plugins_size):
        plugin = &table.plugins[i]
        if plugin.length == length and memcmp(table.text + plugin.name, name.at, length) == 0:
            return STRANGE_PLUGIN + 1 + i
    if table.plugins_size == MAX_PLUGINS:
        return STRANGE_PLUGIN
    if table.plugins == NULL:
        table.plugins = <Plugin*> calloc(MAX_PLUGINS, sizeof(Plugin))
        if table.plugins == NULL:
            return -1
    if not keep_text(table, name, &table.plugins[table.plugins_size].name):
        return -1
    table.plugins[table.plugins_size].length = length
    table.plugins_size += 1
    return STRANGE_PLUGIN + table.plugins_size


cdef bint has_equal_tags(const TagTable* one, const TagTable* other) noexcept nogil
cdef void free_tags(TagTable* table) noexcept nogil


cdef class Tags:
    cdef TagTable table
    cdef bint is_busy       # another thread may be reallocating the table
    cdef bytes _text(self, size_t position, size_t length)
    cdef Tags lender        # the equal tags whose memory these use; None: they have their own
    cdef list listed        # the results of `names` and `numbers`, if they are shared
    cdef dict numbered
    cdef int check_idle(self) except -1
    cdef int own_memory(self) except -1
    cdef void _free(self) noexcept
    cdef Tags twin(self)
    cdef const Tag* _tag(self, size_t number) except NULL
