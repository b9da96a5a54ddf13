/* SPDX-License-Identifier: MIT */
/* GL memory objects on memory that exists: handles, VMM allocations and the chunks of a
 * culv_vector. */
#include "gl/gl_object.h"
#include "graphics/vector_view.h"
#include "vmm/allocation.h"

culv_result culvi_gl_import_handle(const culv_gl *gl, const char *label, const culv_handle *handle,
                                   uint64_t size, bool dedicated, uint32_t *out)
{
    const culvi_gl_table *t = &gl->table;
    const uint32_t type = culvi_handle_number(handle->type, CULVI_USE_GL);
    const int32_t yes = 1;
    culvi_duplicate lent;
    uint32_t memory = 0;
    t->glCreateMemoryObjectsEXT(1, &memory);
    CULVI_TRY(
        culvi_gl_check(gl, label, "glCreateMemoryObjectsEXT", "a memory object could not be made"));
    if (dedicated) {
        t->glMemoryObjectParameterivEXT(memory, CULVI_GL_DEDICATED_MEMORY_OBJECT_EXT, &yes);
        CULVI_TRY_OR(culvi_gl_check(gl, label, "glMemoryObjectParameterivEXT",
                                    "the memory object could not be made a dedicated one"),
                     t->glDeleteMemoryObjectsEXT(1, &memory));
    }
    CULVI_TRY_OR(culvi_handle_lend_for(gl->voice, label, handle, NULL, &lent),
                 t->glDeleteMemoryObjectsEXT(1, &memory));
#ifdef _WIN32
    t->glImportMemoryWin32HandleEXT(memory, size, type, lent.handle.value.win32);
    const char *call = "glImportMemoryWin32HandleEXT";
#else
    t->glImportMemoryFdEXT(memory, size, type, lent.handle.value.fd);
    const char *call = "glImportMemoryFdEXT";
#endif
    culv_result result =
        culvi_gl_check_error(gl, label, call, CULV_REASON_HANDLE_REFUSED,
                             "OpenGL did not import %" PRIu64 " bytes of memory", size);
    culvi_handle_lent_done(&lent, handle, result == CULV_OK);
    CULVI_TRY_OR(result, t->glDeleteMemoryObjectsEXT(1, &memory));
    *out = memory;
    return CULV_OK;
}

static culv_result make_memory(culv_gl *gl, const culv_gl_memory_desc *d, culv_gl_memory **out)
{
    CULVI_NEW(culv_gl_memory, memory, gl->voice, d->label);
    memory->gl = gl;
    memory->size = d->size;
    memory->dedicated = d->dedicated != 0;
    culvi_label_set(memory->label, d->label);
    CULVI_TRY_OR(
        culvi_gl_import_handle(gl, d->label, &d->handle, d->size, memory->dedicated, &memory->name),
        culvi_free(memory));
    culvi_graphics_object_made(&gl->base);
    culvi_log_object(gl->voice, "made", "OpenGL memory object", memory->label, memory->size);
    *out = memory;
    return CULV_OK;
}

static culv_result check_exporter(const culv_gl *gl, const char *label, const culv_uuid *exporter,
                                  const char *what)
{
    if (!culvi_uuid_given(exporter) || culvi_uuid_equal(exporter, &gl->base.uuid)) return CULV_OK;
    CULVI_TEXT(text, 256);
    culvi_text_add(&text, "UUID ");
    culvi_text_add_uuid(&text, exporter);
    culvi_text_add(&text, ", but the context is '%s' UUID ", gl->base.name);
    culvi_text_add_uuid(&text, &gl->base.uuid);
    return culvi_fail(gl->voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                      "%s lies on another GPU: %s", what, text.data);
}

static culv_result need_imports(const culv_gl *gl, const char *label, const char *what)
{
    return culvi_gl_need(gl, label, CULVI_GL_MEMORY_OBJECT, CULVI_GL_MEMORY_OBJECT_HANDLE, what);
}

culv_result culv_gl_memory_import(culv_gl *gl, const culv_gl_memory_desc *desc,
                                  culv_gl_memory **out)
{
    static const char field[] = "culv_gl_memory_desc.handle";
    culvi_handle_facts facts;
    CULVI_REQUIRE_WITH2(gl, gl->voice, desc, out);
    CULVI_READ(gl->voice, culv_gl_memory_desc, d, desc);
    CULVI_TRY(culvi_gl_enter(gl, d.label, __func__));
    CULVI_TRY(need_imports(gl, d.label, "it imports no memory"));
    CULVI_REFUSE_IF(d.size == 0, gl->voice, d.label, CULV_REASON_SIZE,
                    "culv_gl_memory_desc.size is 0; it is that of the whole allocation");
    CULVI_TRY(culvi_handle_use_check(gl->voice, d.label, "culv_gl_memory_desc.handle.type",
                                     d.handle.type, CULVI_USE_GL));
    CULVI_TRY(culvi_handle_check(gl->voice, d.label, field, culvi_handle_memory_source, &d.handle,
                                 &facts));
    CULVI_REFUSE_IF(d.size > facts.size_limit, gl->voice, d.label, CULV_REASON_SIZE,
                    "culv_gl_memory_desc.size is %" PRIu64
                    ", but the allocation behind the handle has at most %" PRIu64,
                    d.size, facts.size_limit);
    CULVI_TRY(check_exporter(gl, d.label, &d.exporter, "the memory"));
    return make_memory(gl, &d, out);
}

culv_result culv_gl_memory_from_vmm(culv_gl *gl, culv_vmm_allocation *allocation, const char *label,
                                    culv_gl_memory **out)
{
    culv_gl_memory_desc d = culv_gl_memory_desc_init();
    CULVI_REQUIRE_WITH2(gl, gl->voice, allocation, out);
    CULVI_TRY(culvi_gl_enter(gl, label, __func__));
    CULVI_TRY(need_imports(gl, label, "it imports no memory"));
    CULVI_REFUSE_IF(
        allocation->usage & CULV_VMM_USAGE_TILE_POOL, gl->voice, label, CULV_REASON_USAGE,
        "the VMM allocation is a tile pool, which backs sparse arrays and nothing else");
    CULVI_TRY(check_exporter(gl, label,
                             allocation->kind == CULV_VMM_LOCATION_DEVICE
                                 ? &allocation->uuid
                                 : &allocation->device->caps.uuid,
                             "the VMM allocation"));
    CULVI_TRY(culv_vmm_export_dup(allocation, (culv_handle_type)CULVI_HANDLE_OPAQUE, &d.handle));
    d.size = allocation->size;
    d.label = label;
    culv_result result = make_memory(gl, &d, out);
    culv_handle_close(&d.handle);
    return result;
}

culv_result culv_gl_memory_destroy(culv_gl_memory **memory)
{
    if (memory == NULL || *memory == NULL) return CULV_OK;
    culv_gl_memory *mine = *memory;
    culv_gl *gl = mine->gl;
    CULVI_TRY(culvi_gl_enter_to_destroy(gl, mine->label, __func__));
    *memory = NULL;
    culvi_log_object(gl->voice, "destroyed", "OpenGL memory object", mine->label, mine->size);
    if (culvi_gl_is_current(gl)) gl->table.glDeleteMemoryObjectsEXT(1, &mine->name);
    culvi_free(mine);
    culvi_graphics_object_gone(&gl->base);
    return CULV_OK;
}

/* Mesa's llvmpipe takes offsets into memory objects without an error and shows the memory's
 * beginning (measured with 22, 25 and 26). */
static culv_result check_offset(const culv_gl *gl, const char *label, uint64_t offset)
{
    if (offset == 0 || !gl->table.software) return CULV_OK;
    return culvi_fail(
        gl->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_RANGE,
        "'%s' ignores offsets into memory objects: from offset %" PRIu64
        " on it would show what is at 0. Give each buffer and texture an allocation of its own, or bind the whole memory as one buffer and use ranges of it (glBindBufferRange)",
        gl->base.name, offset);
}

/* Binding -------------------------------------------------------------------------------------- */

static culv_result fail_range(const culv_gl_memory *m, uint64_t offset, uint64_t size,
                              const char *what)
{
    return culvi_fail(m->gl->voice, m->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "%s of %" PRIu64 " bytes from offset %" PRIu64
                      " on leaves the memory, which has %" PRIu64 " bytes",
                      what, size, offset, m->size);
}

static culv_result fail_bind(const culv_gl_memory *m, culv_reason reason, uint32_t name,
                             const char *why)
{
    return culvi_fail(m->gl->voice, m->label, CULV_ERROR_INVALID, reason,
                      "culv_gl_memory_bind(): %u %s", (unsigned)name, why);
}

static culv_result bind_buffer(culv_gl_memory *m, uint32_t buffer, uint64_t offset, uint64_t size)
{
    int64_t has = 0;
    culv_gl *gl = m->gl;
    const culvi_gl_table *t = &gl->table;
    if (size == 0 || size > PTRDIFF_MAX)
        return fail_bind(m, CULV_REASON_SIZE, buffer, "has no size, or one of half a space");
    if (offset > m->size || size > m->size - offset) return fail_range(m, offset, size, "a buffer");
    if (!t->glIsBuffer(buffer))
        return fail_bind(m, CULV_REASON_VALUE, buffer,
                         "is no buffer; make one by glCreateBuffers()");
    /* OpenGL takes one whose storage is mutable (glNamedBufferData), and loses what was in it. */
    t->glGetNamedBufferParameteri64v(buffer, CULVI_GL_BUFFER_SIZE, &has);
    if (t->glGetError() != CULVI_GL_NO_ERROR || has != 0)
        return fail_bind(m, CULV_REASON_VALUE, buffer,
                         "has storage already; make a new buffer by glCreateBuffers()");
    CULVI_TRY(check_offset(gl, m->label, offset));
    t->glNamedBufferStorageMemEXT(buffer, (ptrdiff_t)size, m->name, offset);
    return culvi_gl_check(gl, m->label, "glNamedBufferStorageMemEXT",
                          "buffer %u could not have %" PRIu64 " bytes of the memory",
                          (unsigned)buffer, size);
}

static culv_result bind_texture(culv_gl_memory *m, uint32_t texture, uint64_t offset,
                                const culv_gl_image_create_desc *d)
{
    culvi_gl_shape shape;
    int32_t immutable = 0, width = 0;
    culv_gl *gl = m->gl;
    const culvi_gl_table *t = &gl->table;
    CULVI_TRY(culvi_gl_read_shape(gl, d, &shape));
    /* Mesa 22 takes a texture that is larger than its memory (measured). */
    if (offset > m->size || shape.size > m->size - offset)
        return fail_range(m, offset, shape.size, "a texture");
    if (!t->glIsTexture(texture))
        return fail_bind(m, CULV_REASON_VALUE, texture,
                         "is no texture; make one by glCreateTextures()");
    t->glGetTextureParameteriv(texture, CULVI_GL_TEXTURE_IMMUTABLE_FORMAT, &immutable);
    if (!immutable) /* as above: glTexImage2D's is mutable */
        t->glGetTextureLevelParameteriv(texture, 0, CULVI_GL_TEXTURE_WIDTH, &width);
    if (t->glGetError() != CULVI_GL_NO_ERROR || immutable || width != 0)
        return fail_bind(m, CULV_REASON_VALUE, texture,
                         "has storage already; make a new texture by glCreateTextures()");
    CULVI_TRY(check_offset(gl, m->label, offset));
    return culvi_gl_texture_storage(
        gl, &shape, texture, d->linear ? CULVI_GL_LINEAR_TILING_EXT : CULVI_GL_OPTIMAL_TILING_EXT,
        m->name, offset);
}

culv_result culv_gl_memory_bind(culv_gl_memory *memory, uint32_t name, uint64_t offset,
                                uint64_t size, const culv_gl_image_create_desc *texture)
{
    culv_gl_image_create_desc d = culv_gl_image_create_desc_init();
    CULVI_REQUIRE(NULL, memory);
    if (texture != NULL)
        CULVI_TRY(
            culvi_desc_read(memory->gl->voice, &d, sizeof d, texture, "culv_gl_image_create_desc"));
    CULVI_TRY(culvi_gl_enter(memory->gl, memory->label, __func__));
    if (texture == NULL) return bind_buffer(memory, name, offset, size);
    d.label = memory->label;
    if (size != 0)
        return fail_bind(memory, CULV_REASON_SIZE, name,
                         "is a texture, whose size its description says; pass 0");
    return bind_texture(memory, name, offset, &d);
}

/* Vectors: a buffer on each chunk -------------------------------------------------------------- */

static void drop(culv_vector_view *view, const culvi_view_part *part)
{
    const culv_gl *gl = culvi_gl_of(view->graphics);
    const uint32_t buffer = (uint32_t)part->object, memory = (uint32_t)part->memory;
    if (!culvi_gl_is_current(gl)) return; /* they went with the contexts */
    gl->table.glDeleteBuffers(1, &buffer);
    gl->table.glDeleteMemoryObjectsEXT(1, &memory);
}

static culv_result make(culv_vector_view *view, const culv_part *chunk, culvi_view_part *part)
{
    const culv_gl *gl = culvi_gl_of(view->graphics);
    uint32_t memory = 0, buffer = 0;
    culv_handle handle;
    CULVI_TRY(
        culv_vmm_export_dup(chunk->allocation, (culv_handle_type)CULVI_HANDLE_OPAQUE, &handle));
    culv_result result =
        culvi_gl_import_handle(gl, view->label, &handle, chunk->allocation->size, false, &memory);
    culv_handle_close(&handle);
    if (result != CULV_OK) return result;
    CULVI_TRY_OR(culvi_gl_create_buffer(gl, view->label, chunk->size, memory, 0, &buffer),
                 gl->table.glDeleteMemoryObjectsEXT(1, &memory));
    part->object = buffer;
    part->memory = memory;
    return CULV_OK;
}

static culv_result may_update(const culv_vector_view *view, const char *call)
{
    return culvi_gl_enter(culvi_gl_of(view->graphics), view->label, call);
}

static const culvi_vector_view_api view_api = {
    .may_update = may_update, .make = make, .drop = drop};

culv_result culv_gl_vector_view_create(culv_gl *gl, culv_vector *vector, const char *label,
                                       culv_vector_view **out)
{
    CULVI_REQUIRE_WITH2(gl, gl->voice, vector, out);
    if (label == NULL) label = vector->label;
    CULVI_TRY(culvi_gl_enter(gl, label, __func__));
    CULVI_TRY(need_imports(gl, label, "it shows no vector"));
    CULVI_TRY(culvi_vector_view_check(&gl->base, label, vector));
    CULVI_NEW(culv_vector_view, view, gl->voice, label);
    culvi_vector_view_init(view, &view_api, &gl->base, vector, label);
    return culvi_vector_view_made(view, CULV_OK, out);
}
