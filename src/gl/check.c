/* SPDX-License-Identifier: MIT */
/* culv_gl_check_context(): asks OpenGL and CUDA; check_text.c says what follows. */
#include "base/alloc.h"
#include "base/attempt.h"
#include "base/desc.h"
#include "gl/gl_check.h"
#include "gl/gl_core.h"

#include <stdio.h>
#include <string.h>

const char *culv_gl_way_name(culv_gl_way way)
{
    switch (way) {
    case CULV_GL_WAY_NONE: return "NONE";
    case CULV_GL_WAY_MEMORY: return "MEMORY";
    case CULV_GL_WAY_REGISTER: return "REGISTER";
    case CULV_GL_WAY_STAGED: return "STAGED";
    case CULV_GL_WAY_FORCE32: break;
    }
    return "unknown";
}

static void describe_context(culv_gl_report *r, const culvi_gl_table *t, culv_gl_platform platform)
{
    r->platform = platform;
    r->is_software = t->software;
    memcpy(r->vendor, t->vendor, sizeof r->vendor);
    memcpy(r->renderer, t->renderer, sizeof r->renderer);
    memcpy(r->version, t->version, sizeof r->version);
    r->has_uuid = t->has_uuid;
    r->uuid = t->uuid;
    r->driver_uuid = t->driver_uuid;
    r->num_gpus = t->num_gpus;
    r->has_direct_state_access = t->has[CULVI_GL_DIRECT_STATE_ACCESS];
    r->has_memory_object = t->has[CULVI_GL_MEMORY_OBJECT] && t->has[CULVI_GL_MEMORY_OBJECT_HANDLE];
    r->has_semaphore = t->has[CULVI_GL_SEMAPHORE] && t->has[CULVI_GL_SEMAPHORE_HANDLE];
    r->has_timeline_semaphore = r->has_semaphore && t->has[CULVI_GL_TIMELINE_SEMAPHORE];
}

static void ask_cuda(culv_gl_report *r, culvi_gl_facts *f, culvi_gl_source *source,
                     const culvi_probe *probe, const culv_device *device)
{
    culvi_gl_identify(source, probe);
    const culvi_cuda_device *found =
        source->has_uuid ? culvi_probe_find(probe, &source->uuid) : NULL;
    f->num_cuda = probe->num_devices;
    f->no_cuda = probe->num_devices == 0 ? probe->problems : NULL;
    if (device != NULL) {
        f->device_name = device->caps.name;
        f->other_device = found == NULL || !culvi_uuid_equal(&source->uuid, &device->caps.uuid);
    }
    if (found == NULL) return;
    r->cuda_ordinal = found->ordinal;
    snprintf(r->cuda_name, sizeof r->cuda_name, "%s", found->name);
    f->twin = found->cuda->kind == CULV_DRIVER_SOFT;
    f->registers = culvi_cuda_proc(found->cuda, "cuGraphicsGLRegisterBuffer", 3000) != NULL;
    bool has;
    r->devices_all = culvi_gl_cuda_devices(found->cuda, 1, r->cuda_ordinal, &has);
    r->devices_current_frame = culvi_gl_cuda_devices(found->cuda, 2, r->cuda_ordinal, &has);
    r->devices_next_frame = culvi_gl_cuda_devices(found->cuda, 3, r->cuda_ordinal, &has);
}

culv_result culv_gl_check_context(const culv_gl_desc *desc, culv_device *device,
                                  culv_gl_report *out)
{
    const culvi_voice *voice = device != NULL ? &device->voice : NULL;
    culv_gl_desc d = culv_gl_desc_init();
    culv_gl_report report = {.cuda_ordinal = -1};
    culvi_gl_facts facts = {.device_name = ""};
    culvi_gl_windows windows;
    culvi_probe probe;
    CULVI_REQUIRE(voice, out);
    culv_result result = culvi_struct_check(voice, out, "culv_gl_report");
    if (result == CULV_OK && desc != NULL)
        result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_gl_desc");
    if (result != CULV_OK) return result;
    culvi_gl_table *table = culvi_alloc(sizeof *table);
    if (table == NULL) return culvi_fail_host_memory(voice, NULL);
    culvi_gl_windows_open(&windows, d.get_proc_address);
    culvi_gl_source source = {.windows = &windows, .table = table};
    source.context = culvi_gl_current(&windows);
    if (source.context.context != NULL) {
        (void)culvi_gl_table_load(table, &windows, source.context.platform);
        describe_context(&report, table, source.context.platform);
        facts.nvidia = table->nvidia;
        facts.lacks = culvi_gl_lacks(table);
        result =
            culvi_probe_open(voice, device != NULL ? device->cuda->kind : CULV_DRIVER_AUTO, &probe);
        if (result != CULV_OK) goto close_windows;
        ask_cuda(&report, &facts, &source, &probe, device);
    }
    culvi_gl_judge(&report, &facts, &culvi_gl_this_world);
    culvi_struct_write(out, &report, sizeof report);
    if (source.context.context != NULL) culvi_probe_close(&probe);
close_windows:
    culvi_gl_windows_close(&windows);
    culvi_free(table);
    return result;
}
