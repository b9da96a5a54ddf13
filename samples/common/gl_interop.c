/* SPDX-License-Identifier: MIT */
/* See gl_interop.h. */
#include "gl_interop.h"

#include <stdio.h>
#include <string.h>

#include <culvert/soft.h>

/* Samples take the software twin unless they are told not to. */
static bool allow_twin(const char *choice)
{
    if (strcmp(choice, "nvidia") == 0) return true;
    culv_result result = culv_soft_enable();
    return result == CULV_OK || strcmp(choice, "soft") != 0 || culv_ok(result, "culv_soft_enable");
}

typedef struct opening {
    gl_interop *interop;
    const char *choice;
} opening;

/* Is there a CUDA device that is this context's? By UUID, which both sides tell. */
static bool open_device(void *user, const gl_setup *gl, char why_not[512])
{
    const opening *o = user;
    gl_interop *i = o->interop;
    culv_gl_desc desc = culv_gl_desc_init();
    culv_device_desc device = culv_device_desc_init();
    desc.get_proc_address = gl->get_proc_address;
    device.driver = strcmp(o->choice, "nvidia") == 0 ? CULV_DRIVER_NVIDIA
                    : strcmp(o->choice, "soft") == 0 ? CULV_DRIVER_SOFT
                                                     : CULV_DRIVER_AUTO;
    if (culv_device_open_for_gl(&desc, &device, &i->device) == CULV_OK) return true;
    snprintf(why_not, 512, "%s: %s", gl->renderer, culv_last_error_message());
    return false;
}

static bool attach(gl_interop *i)
{
    culv_gl_desc desc = culv_gl_desc_init();
    desc.get_proc_address = i->gl.get_proc_address;
    i->report = culv_gl_report_init();
    return interop_enter_device(i->device, &i->cu, &i->callers_context) &&
           culv_ok(culv_gl_check_context(&desc, i->device, &i->report), "culv_gl_check_context") &&
           culv_ok(culv_gl_attach(i->device, &desc, &i->attached), "culv_gl_attach");
}

bool gl_interop_open(gl_interop *i, const gl_wishes *wishes)
{
    opening o = {i, wishes->choice};
    memset(i, 0, sizeof *i);
    return allow_twin(wishes->choice) && gl_setup_headless(&i->gl, wishes, open_device, &o) &&
           attach(i);
}

void gl_interop_close(gl_interop *i)
{
    culv_gl_detach(&i->attached);
    interop_close_device(&i->device, i->cu, i->callers_context);
    gl_setup_destroy(&i->gl);
}
