/* SPDX-License-Identifier: MIT */
/* The program's malloc. See allocations.h. */
#include "allocations.h"

#include "harness.h"
#include "program.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if !EXITS_SANITIZED

enum { MAX_FRAMES = 24 };

/* glibc's own names for what it exports as malloc and so on. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool counting;
static _Thread_local bool inside; /* what backtrace() may ask for itself does not count */
static const void *culvert_base, *libc_base, *program_base;
static atomic_uint_fast64_t by_culvert, by_program, by_others;

static const void *base_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

/* The library that made libc allocate: the first frame outside of libc, from `caller` on. */
static const void *base_behind_libc(const void *caller)
{
    void *frames[MAX_FRAMES];
    int count = backtrace(frames, MAX_FRAMES);
    int at = 0;
    while (at < count && frames[at] != caller)
        at++;
    const void *base = libc_base;
    while (++at < count && base == libc_base)
        base = base_of(frames[at]);
    return base;
}

static void attribute(const void *caller)
{
    const void *base = base_of(caller);
    if (base == libc_base) base = base_behind_libc(caller);
    if (base == culvert_base)
        atomic_fetch_add_explicit(&by_culvert, 1, memory_order_relaxed);
    else if (base == program_base)
        atomic_fetch_add_explicit(&by_program, 1, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&by_others, 1, memory_order_relaxed);
}

static void count(const void *caller)
{
    if (!atomic_load_explicit(&counting, memory_order_acquire) || inside) return;
    inside = true;
    attribute(caller);
    inside = false;
}

#    define EXPORTED __attribute__((visibility("default")))

EXPORTED void *malloc(size_t size)
{
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

EXPORTED void *calloc(size_t number, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(number, size);
}

EXPORTED void *realloc(void *old, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_realloc(old, size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_memalign(alignment, size);
}

EXPORTED int posix_memalign(void **out, size_t alignment, size_t size)
{
    count(__builtin_return_address(0));
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    void *memory = __libc_memalign(alignment, size);
    if (memory == NULL) return ENOMEM;
    *out = memory;
    return 0;
}

bool allocations_can_be_counted(void)
{
    return true;
}

void allocations_begin(void)
{
    void *frames[MAX_FRAMES];
    (void)backtrace(frames, MAX_FRAMES); /* the first one loads the unwinder */
    culvert_base = base_of(dlsym(RTLD_DEFAULT, "culv_version"));
    libc_base = base_of(dlsym(RTLD_DEFAULT, "qsort"));
    program_base = base_of(&counting);
    REQUIRE(culvert_base != NULL && libc_base != NULL && program_base != NULL);
    if (culvert_base == program_base || culvert_base == libc_base)
        FAIL(
            "libculvert is no library of its own here, so its allocations cannot be told from others");
    atomic_store(&by_culvert, 0);
    atomic_store(&by_program, 0);
    atomic_store(&by_others, 0);
    atomic_store_explicit(&counting, true, memory_order_release);
}

allocation_counts allocations_end(void)
{
    atomic_store_explicit(&counting, false, memory_order_release);
    return (allocation_counts){.culvert = atomic_load(&by_culvert),
                               .program = atomic_load(&by_program),
                               .others = atomic_load(&by_others)};
}

#else

bool allocations_can_be_counted(void)
{
    return false;
}

void allocations_begin(void) {}

allocation_counts allocations_end(void)
{
    return (allocation_counts){0};
}

#endif
