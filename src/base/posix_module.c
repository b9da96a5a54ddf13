/* Shared libraries, POSIX half. SPDX-License-Identifier: MIT */
#include "base/platform.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

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

void *culvi_module_symbol(void *module, const char *name)
{
    return dlsym(module, name);
}

void culvi_module_close(void *module)
{
    dlclose(module);
}

bool culvi_module_self_dir(char *out, size_t size)
{
    Dl_info info;
    if (dladdr((const void *)&culvi_cuda_library, &info) == 0 || info.dli_fname == NULL) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    size_t length = slash != NULL ? (size_t)(slash - info.dli_fname) : 1;
    if (length + 1 > size) return false;
    memcpy(out, slash != NULL ? info.dli_fname : ".", length);
    out[length] = '\0';
    return true;
}
