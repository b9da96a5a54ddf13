/* SPDX-License-Identifier: MIT */
/* See gl_api.h. */
#include "gl_api.h"

#include <string.h>

#include "report.h"

#define GL_API_DEFINE_(type, name) type gl##name;
GL_API_LIST(GL_API_DEFINE_)
#undef GL_API_DEFINE_

bool gl_api_load(gl_get_proc_address get)
{
    void *function;
#define GL_API_LOAD_(type, name)                                                                   \
    function = get("gl" #name);                                                                    \
    if (!function) {                                                                               \
        report("this OpenGL has no %s; 4.5 has", "gl" #name);                                      \
        return false;                                                                              \
    }                                                                                              \
    memcpy(&gl##name, &function, sizeof function);
    GL_API_LIST(GL_API_LOAD_)
#undef GL_API_LOAD_
    return true;
}
