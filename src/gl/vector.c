/* SPDX-License-Identifier: MIT */
/* A culv_vector in OpenGL: a buffer on each chunk. */
#include "base/alloc.h"
#include "base/handle.h"
#include "gl/gl_object.h"
#include "graphics/vector_view.h"
#include "vmm/allocation.h"

#include <inttypes.h>

struct culv_gl_vector {
    culvi_vector_view base; /* its graphics is the attachment: a reference */
};

static culv_gl *gl_of(const culvi_vector_view *view)
{
    return culvi_gl_of(view->graphics);
}

static void drop(culvi_vector_view *view, const culvi_view_part *part)
{
    const culv_gl *gl = gl_of(view);
    const uint32_t buffer = (uint32_t)part->object, memory = (uint32_t)part->memory;
    if (!culvi_gl_is_current(gl)) return; /* they went with the contexts */
    gl->table.glDeleteBuffers(1, &buffer);
    gl->table.glDeleteMemoryObjectsEXT(1, &memory);
}

static culv_result make(culvi_vector_view *view, const culv_vector_chunk *chunk,
                        culvi_view_part *part)
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

static const culvi_vector_view_api view_api = {.update_call = "culv_gl_vector_update",
                                               .destroy_call = "culv_gl_vector_destroy",
                                               .make = make,
                                               .drop = drop};

static culv_result check_vector(const culv_gl *gl, const char *label, const culv_vector *vector)
{
    const uint32_t type = CULVI_HANDLE_OPAQUE;
    if (gl->base.device != vector->device || gl->base.foreign)
        return culvi_fail(culvi_gl_voice(gl), label, CULV_ERROR_INVALID,
                          CULV_REASON_DEVICE_MISMATCH,
                          "the vector lies on '%s', and the context is '%s'",
                          vector->device->caps.name, gl->base.name);
    if (vector->chunk.handle_types & UINT32_C(1) << type) return CULV_OK;
    return culvi_fail(culvi_gl_voice(gl), label, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE,
                      "the vector's chunks are not made to be exported as %s; set its bit in the "
                      "handle_types of the descriptor that the vector is made with",
                      culvi_handle_type_name((culv_handle_type)type));
}

culv_result culv_gl_vector_create(culv_gl *gl, culv_vector *vector, const char *label,
                                  culv_gl_vector **out)
{
    CULVI_REQUIRE(NULL, gl);
    const culvi_voice *voice = culvi_gl_voice(gl);
    CULVI_REQUIRE2(voice, vector, out);
    if (label == NULL) label = vector->label;
    culv_result result = culvi_gl_enter(gl, label, __func__);
    if (result == CULV_OK)
        result = culvi_gl_need(gl, label, CULVI_GL_MEMORY_OBJECT, CULVI_GL_MEMORY_OBJECT_HANDLE,
                               "it shows no vector");
    if (result == CULV_OK) result = check_vector(gl, label, vector);
    if (result != CULV_OK) return result;
    culv_gl_vector *view = culvi_alloc(sizeof *view);
    if (view == NULL) return culvi_fail_host_memory(voice, label);
    culvi_vector_view_init(&view->base, &view_api, &gl->base, vector, label);
    result = culvi_vector_view_update(&view->base);
    if (result != CULV_OK) {
        culvi_vector_view_clear(&view->base);
        culvi_free(view);
        return result;
    }
    culvi_graphics_ref(&gl->base);
    culvi_graphics_count_created(&gl->base, true);
    culvi_log_object(voice, "made", "OpenGL view of a vector", view->base.label, 0);
    *out = view;
    return CULV_OK;
}

culv_result culv_gl_vector_destroy(culv_gl_vector **view)
{
    if (view == NULL || *view == NULL) return CULV_OK;
    culv_gl_vector *mine = *view;
    culv_gl *gl = gl_of(&mine->base);
    culv_result result = culvi_gl_enter_to_destroy(gl, mine->base.label, __func__);
    if (result != CULV_OK) return result;
    *view = NULL;
    culvi_log_object(culvi_gl_voice(gl), "destroyed", "OpenGL view of a vector", mine->base.label,
                     0);
    culvi_vector_view_clear(&mine->base);
    culvi_free(mine);
    culvi_graphics_count_created(&gl->base, false);
    culvi_graphics_unref(&gl->base);
    return CULV_OK;
}

culv_result culv_gl_vector_update(culv_gl_vector *view)
{
    CULVI_REQUIRE(NULL, view);
    culv_result result = culvi_gl_enter(gl_of(&view->base), view->base.label, __func__);
    return result == CULV_OK ? culvi_vector_view_update(&view->base) : result;
}

culv_result culv_gl_vector_get_buffers(const culv_gl_vector *view, culv_gl_vector_buffer *parts,
                                       size_t capacity, size_t *count)
{
    CULVI_REQUIRE(NULL, view);
    const culvi_voice *voice = culvi_gl_voice(gl_of(&view->base));
    CULVI_REQUIRE(voice, count);
    if (parts == NULL && capacity != 0) return culvi_fail_null(voice, __func__, "parts");
    for (size_t i = 0; i < view->base.num_parts && i < capacity; i++)
        parts[i] = (culv_gl_vector_buffer){.buffer = (uint32_t)view->base.parts[i].object,
                                           .offset = view->base.parts[i].offset,
                                           .size = view->base.parts[i].size,
                                           .chunk = view->base.parts[i].chunk};
    *count = view->base.num_parts;
    return CULV_OK;
}

uint64_t culv_gl_vector_generation(const culv_gl_vector *view)
{
    return view != NULL ? atomic_load(&view->base.generation) : 0;
}
