/* SPDX-License-Identifier: MIT */
/* What culvert-extra needs of a POSIX system. */
#include "inside.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

void *culvi_x_module_open(const char *name, char *why, size_t why_size)
{
    void *module = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *text = module == NULL ? dlerror() : NULL;
    if (module == NULL) snprintf(why, why_size, "%s", text != NULL ? text : name);
    return module;
}

bool culvi_x_module_find(void *module, const char *name, void *out)
{
    void *symbol = dlsym(module, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

void culvi_x_module_close(void *module)
{
    dlclose(module);
}

/* Threads -------------------------------------------------------------------------------------- */

#ifdef CULVI_TEST_HOOKS
extern void (*_Atomic culvi_lock_hook)(bool before);

void culvi_x_at_lock(bool before)
{
    void (*hook)(bool before) = atomic_load(&culvi_lock_hook);
    if (hook != NULL) hook(before);
}
#endif

void culvi_x_condition_wait(pthread_cond_t *condition, culvi_x_mutex *mutex)
{
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_cond_wait(condition, mutex);
    (void)pthread_setcancelstate(before, NULL);
}

static _Atomic(uint32_t) generation;
static bool watched;

static void note_fork(void)
{
    atomic_fetch_add(&generation, 1);
}

static void watch(void)
{
    watched = pthread_atfork(NULL, NULL, note_fork) == 0;
}

bool culvi_x_generation_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch);
    return watched;
}

uint32_t culvi_x_generation(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}

/* Memory --------------------------------------------------------------------------------------- */

uint64_t culvi_x_page_size(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (uint64_t)size : 4096;
}

void culvi_x_want_large_pages(void *memory, size_t size)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t page = (uintptr_t)culvi_x_page_size(), end = (uintptr_t)memory + size;
    const uintptr_t start = ((uintptr_t)memory + page - 1) / page * page;
    if (start < end) (void)madvise((void *)start, end / page * page - start, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)size;
#endif
}

bool culvi_x_host_readable(uint64_t address)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)address, 1};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

int culvi_x_files_left(void)
{
    const int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno == EMFILE || errno == ENFILE ? errno : 0;
    close(fd);
    return 0;
}

void culvi_x_keep_private(int fd)
{
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}
