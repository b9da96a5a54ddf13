/* SPDX-License-Identifier: MIT */
/* What culvert-extra needs of a POSIX system. */
#include "inside.h"

#include <dlfcn.h>
#include <stdio.h>

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
