/* Memory for columns in pages of 2 MiB, where the system has them.
 *
 * A page of 4 KiB costs about as much to get as the points in it cost to decode.
 */
#ifndef RUNFOLD_PAGES_H
#define RUNFOLD_PAGES_H

#include <stdlib.h>
#if defined(__linux__)
#  include <sys/mman.h>
#endif

#define RF_LARGE_PAGE ((size_t)1 << 21)

/* Memory to be given back with free(), or NULL. `size` is a multiple of RF_LARGE_PAGE. */
static inline void *rf_large_pages(size_t size) {
    void *memory = NULL;
    if (posix_memalign(&memory, RF_LARGE_PAGE, size))
        return NULL;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    /* Advice: where it cannot be had, the memory is as good as any. */
    (void)madvise(memory, size, MADV_HUGEPAGE);
#endif
    return memory;
}

#endif
