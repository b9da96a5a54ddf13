/* SPDX-License-Identifier: MIT */
/* A culv_vector in OpenGL: a buffer on each chunk. */
#include "base/alloc.h"
#include "base/handle.h"
#include "gl/gl_object.h"
#include "graphics/vector_view.h"
#include "vmm/allocation.h"

#include <inttypes.h>

static culv_gl *gl_of(const culv_vector_view *view)
{
    return culvi_gl_of(view->graphics);
}

static void drop(culv_vector_view *view, const culvi_view_part *part)
{
    const culv_gl *gl = gl_of(view);
    const uint32_t buffer = (uint32_t)part->object, memory = (uint32_t)part->memory;
    if (!culvi_gl_is_current(gl)) return; /* they went with the contexts */
    gl->table.glDeleteBuffers(1, &buffer);
    gl->table.glDeleteMemoryObjectsEXT(1, &memory);
}

static culv_result make(culv_vector_view *view, const culv_part *chunk, culvi_view_part *part)
{
    const culv_gl *gl = gl_of(view);
    culv_handle handle;
    uint32_t memory = 0, buffer = 0;
    culv_result result =
        culv_vmm_export_dup(chunk->allocation, (culv_handle_type)CULVI_HANDLE_OPAQUE, &handle);
    if (result != CULV_OK) return result;
    result =
        culvi_gl_import_handle(gl, view->label, &handle, chunk->allocation->size, false, &memory);
    culv_handle_close(&handle);
    if (result != CULV_OK) return result;
    result = culvi_gl_create_buffer(gl, view->label, chunk->size, memory, 0, &buffer);
    if (result != CULV_OK) {
        gl->table.glDeleteMemoryObjectsEXT(1, &memory);
        return result;
    }
    part->object = buffer;
    part->memory = memory;
    return CULV_OK;
}

static culv_result may_update(const culv_vector_view *view, const char *call)
{
    return culvi_gl_enter(gl_of(view), view->label, call);
}

static const culvi_vector_view_api view_api = {
    .may_update = may_update, .make = make, .drop = drop};

culv_result culv_gl_vector_view_create(culv_gl *gl, culv_vector *vector, const char *label,
                                       culv_vector_view **out)
{
    CULVI_REQUIRE(NULL, gl);
    const culvi_voice *voice = culvi_gl_voice(gl);
    CULVI_REQUIRE2(voice, vector, out);
    if (label == NULL) label = vector->label;
    culv_result result = culvi_gl_enter(gl, label, __func__);
    if (result == CULV_OK)
        result = culvi_gl_need(gl, label, CULVI_GL_MEMORY_OBJECT, CULVI_GL_MEMORY_OBJECT_HANDLE,
                               "it shows no vector");
    if (result == CULV_OK) result = culvi_vector_view_check(&gl->base, label, vector);
    if (result != CULV_OK) return result;
    culv_vector_view *view = culvi_alloc(sizeof *view);
    if (view == NULL) return culvi_fail_host_memory(voice, label);
    culvi_vector_view_init(view, &view_api, &gl->base, vector, label);
    return culvi_vector_view_made(view, CULV_OK, out);
}
