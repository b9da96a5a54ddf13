/* SPDX-License-Identifier: MIT */
/* What culvert-extra needs of a POSIX system. */
#include "inside.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
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

#ifdef CULVI_TEST_HOOKS
extern void (*_Atomic culvi_lock_hook)(bool before);

void culvi_x_at_lock(bool before)
{
    void (*hook)(bool before) = atomic_load(&culvi_lock_hook);
    if (hook != NULL) hook(before);
}
#endif

uint64_t culvi_x_page_size(void)
{
    const long size = sysconf(_SC_PAGESIZE);
    return size > 0 ? (uint64_t)size : 4096;
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
