/* SPDX-License-Identifier: MIT */
/* Shared libraries, POSIX half. */
#include "base/platform.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* Never "libcuda.so": that is the development name, and toolkits ship a stub under it. */
const char *const culvi_cuda_library = "libcuda.so.1";
const char *const culvi_soft_library = "libculvert-soft.so.0";

void *culvi_module_open(const char *path, char *why, size_t why_size)
{
    /* NODELETE: CUDA drivers keep threads and cannot be unloaded safely. */
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (module == NULL) {
        const char *text = dlerror();
        snprintf(why, why_size, "%s", text != NULL ? text : path);
    }
    return module;
}

void *culvi_module_loaded(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

void *culvi_module_symbol(void *module, const char *name)
{
    return dlsym(module, name);
}

bool culvi_module_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

void culvi_module_close(void *module)
{
    dlclose(module);
}

bool culvi_module_keep(const char *name)
{
    void *module = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE);
    if (module != NULL) dlclose(module);
    return module != NULL;
}

int culvi_file_head(const char *path, void *out, size_t size, size_t *out_size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int error = 0;
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, (char *)out + done, size - done);
        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0) {
            break;
        } else if (errno != EINTR) {
            error = errno; /* of a directory, for one */
            break;
        }
    }
    (void)close(fd);
    *out_size = done;
    return error;
}

/* dladdr() names the program by argv[0], which whoever starts it chooses. */
static bool is_program(const Dl_info *self)
{
    Dl_info program;
    const void *headers = NULL;
    unsigned long address = getauxval(AT_PHDR);
    memcpy(&headers, &address, sizeof headers);
    return dladdr(headers, &program) != 0 && program.dli_fbase == self->dli_fbase;
}

/* A library that was loaded by a relative path has its directory from then: the working directory
 * may be another now. */
static bool origin_of(const void *address, char out[2 * PATH_MAX])
{
#ifdef __GLIBC__
    Dl_info info;
    void *map = NULL;
    return dladdr1(address, &info, &map, RTLD_DL_LINKMAP) != 0 &&
           dlinfo(map, RTLD_DI_ORIGIN, out) == 0 && out[0] == '/';
#else
    (void)address;
    (void)out;
    return false;
#endif
}

bool culvi_module_self_dir(char *out, size_t size)
{
    char path[2 * PATH_MAX];
    Dl_info info;
    if (dladdr((const void *)&culvi_cuda_library, &info) == 0 || info.dli_fname == NULL)
        return false;
    if (is_program(&info)) {
        /* A hard link puts a privileged program into any directory. */
        ssize_t length = culvi_privileged() ? -1 : readlink("/proc/self/exe", path, sizeof path);
        if (length <= 0 || (size_t)length >= sizeof path) return false;
        path[length] = '\0';
        if (path[0] != '/') return false;
        *strrchr(path, '/') = '\0';
    } else if (info.dli_fname[0] != '/') {
        if (!origin_of((const void *)&culvi_cuda_library, path)) return false;
    } else {
        int n = snprintf(path, sizeof path, "%s", info.dli_fname);
        if (n < 0 || (size_t)n >= sizeof path) return false;
        *strrchr(path, '/') = '\0';
    }
    int n = snprintf(out, size, "%s", path);
    return n >= 0 && (size_t)n < size;
}
