"""The scalar points of many tags, converted to NumPy arrays on request.

Arrays take far more memory than a few points: a log with a million tags of one
point each would take gigabytes if every tag had its own arrays.
"""

cimport numpy as cnp
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from runfold._core.points cimport FIRST_ROOM, Points, free_columns, free_points, pack_columns

cnp.import_array()

# Stands for the `made` of all instances that have none; never modified.
cdef dict NONE_MADE = {}


cdef class Block:
    """Keeps malloc'ed memory alive for the arrays that use it."""

    def __dealloc__(self):
        free(self.columns[0])
        free(self.columns[1])
        free(self.columns[2])


cdef object as_array(Block block, void* data, cnp.npy_intp size, int type_number):
    """Return an array that uses a block's memory: read-only, because the memory is shared."""
    array = cnp.PyArray_SimpleNewFromData(1, &size, type_number, data)
    cnp.set_array_base(array, block)
    cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef object copied(const void* data, cnp.npy_intp size, int type_number):
    """Return a separate read-only array with a copy of the data."""
    array = cnp.PyArray_SimpleNewFromData(1, &size, type_number, <void*> data).copy()
    cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef tuple copied_points(const Points* points):
    if points.room == 0:
        return (
            copied(&points.steps.only, points.size, cnp.NPY_INT64),
            copied(&points.wall_times.only, points.size, cnp.NPY_FLOAT64),
            copied(&points.values.only, points.size, cnp.NPY_FLOAT64),
        )
    return (
        copied(points.steps.column, points.size, cnp.NPY_INT64),
        copied(points.wall_times.column, points.size, cnp.NPY_FLOAT64),
        copied(points.values.column, points.size, cnp.NPY_FLOAT64),
    )


cdef class ScalarPoints:
    """The points of each tag number: (steps, wall_times, values), three read-only arrays.

    A mapping, in the order of the numbers. Arrays of many points own the memory
    into which they were decoded and are created once; those of a few points are
    created on each request.
    """

    def __cinit__(self):
        self.made = NONE_MADE

    def __dealloc__(self):
        cdef size_t tag
        for tag in range(self.room):
            self._drop(tag)
        free(self.points)

    cdef void settle(self) noexcept:
        """Count the tags, and pack a few points tightly, without room for more."""
        cdef size_t tag, used = 0, total = 0
        cdef Points points
        cdef int64_t* at
        cdef void* shrunk
        cdef Block block
        for tag in range(self.room):
            if self.points[tag].size:
                self.count += 1
                total += self.points[tag].size
                used = tag + 1
        if not 0 < total <= MOST_PACKED:
            return
        try:
            block = Block()
        except MemoryError:  # the points stay where they are
            return
        at = <int64_t*> malloc(total * 3 * 8)
        if at == NULL:
            return
        block.columns[0] = at
        for tag in range(used):
            points = self.points[tag]
            if points.size:
                at = pack_columns(&points, &self.points[tag], at)
                free_columns(&points)
        self.block = block
        self.is_packed = True
        # The tags after the last one with points have nothing to free.
        shrunk = realloc(self.points, used * sizeof(Points))
        if shrunk != NULL:
            self.points = <Points*> shrunk
        self.room = used

    cdef void _drop(self, size_t tag) noexcept:
        """Remove the points of a tag."""
        if self.is_packed:
            memset(&self.points[tag], 0, sizeof(Points))
        else:
            free_points(&self.points[tag])

    def __len__(self):
        return self.count

    def __contains__(self, object tag):
        return tag in self.made or self._number(tag) >= 0

    def __iter__(self):
        cdef size_t tag
        for tag in range(self.room):
            if self.points[tag].size or (self.made and tag in self.made):
                yield tag
        for later in list(self.made):
            if later >= self.room:
                yield later

    def __getitem__(self, object tag):
        made = self.made.get(tag)
        if made is not None:
            return made
        cdef Py_ssize_t number = self._number(tag)
        if number < 0:
            raise KeyError(tag)
        return self._make(number)

    def __setitem__(self, size_t tag, tuple points not None):
        if tag not in self:
            self.count += 1
        if tag < self.room:
            self._drop(tag)
        self._keep(tag, points)

    cdef int _keep(self, size_t tag, tuple points) except -1:
        """Keep the arrays of a tag."""
        if self.made is NONE_MADE:
            self.made = {}
        self.made[tag] = points
        return 0

    def items(self):
        """Yield each tag number with its points."""
        cdef size_t tag
        for tag in range(self.room):
            if self.points[tag].size:
                yield tag, self._make(tag)
            elif self.made and tag in self.made:
                yield tag, self.made[tag]
        for later in list(self.made):
            if later >= self.room:
                yield later, self.made[later]

    def values(self):
        """Yield the points of each tag."""
        for _, points in self.items():
            yield points

    def counts(self):
        """Return the number of points per tag."""
        cdef size_t tag
        found = {}
        for tag in self:
            found[tag] = len(self.made[tag][0]) if tag in self.made else self.points[tag].size
        return found

    @property
    def total(self):
        """The total number of points."""
        cdef size_t tag, total = 0
        for tag in range(self.room):
            total += self.points[tag].size
        return total + sum([len(made[0]) for made in self.made.values()])

    cdef Py_ssize_t _number(self, object tag):
        """Return the tag's number if its points have not yet been converted to arrays, else -1."""
        cdef Py_ssize_t number
        try:
            number = tag
        except (TypeError, OverflowError):
            return -1
        if 0 <= number < <Py_ssize_t> self.room and self.points[number].size:
            return number
        return -1

    cdef tuple _make(self, size_t tag):
        """Return the three arrays of a tag's points; large arrays take over the columns."""
        cdef Points taken = self.points[tag]
        if self.is_packed:
            return (
                as_array(self.block, taken.steps.column, taken.size, cnp.NPY_INT64),
                as_array(self.block, taken.wall_times.column, taken.size, cnp.NPY_FLOAT64),
                as_array(self.block, taken.values.column, taken.size, cnp.NPY_FLOAT64),
            )
        if taken.room <= FIRST_ROOM:
            return copied_points(&self.points[tag])
        # The columns must have only one owner, even if memory runs out while an array is created.
        cdef Block block = Block()
        memset(&self.points[tag], 0, sizeof(Points))
        block.columns[0] = taken.steps.column
        block.columns[1] = taken.wall_times.column
        block.columns[2] = taken.values.column
        made = (
            as_array(block, taken.steps.column, taken.size, cnp.NPY_INT64),
            as_array(block, taken.wall_times.column, taken.size, cnp.NPY_FLOAT64),
            as_array(block, taken.values.column, taken.size, cnp.NPY_FLOAT64),
        )
        self._keep(tag, made)
        return made
