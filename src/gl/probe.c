/* SPDX-License-Identifier: MIT */
/* Does the driver honour offsets into memory objects? Mesa's llvmpipe takes them without an error
 * and shows the memory's beginning (measured with 22, 25 and 26), so only data can tell. */
#include "gl/gl_object.h"

#include "base/handle.h"

#include <inttypes.h>

enum { PROBE_BYTES = 65536, SECOND = 32768, WORDS = 16 };

/* Writes 1 to the first buffer and 2 to the second one; what has the first then? It is read by a
 * copy into a buffer of OpenGL's own. */
static culv_result compare(const culv_gl *gl, const char *label, uint32_t first, uint32_t second,
                           uint32_t copy, culvi_gl_offsets *out)
{
    const culvi_gl_table *t = &gl->table;
    const uint32_t one = 0x11111111, two = 0x22222222;
    uint32_t words[WORDS] = {0};
    bool first_kept = true, second_kept = true;
    t->glClearNamedBufferSubData(first, CULVI_GL_R32UI, 0, sizeof words, CULVI_GL_RED_INTEGER,
                                 CULVI_GL_UNSIGNED_INT, &one);
    t->glClearNamedBufferSubData(second, CULVI_GL_R32UI, 0, sizeof words, CULVI_GL_RED_INTEGER,
                                 CULVI_GL_UNSIGNED_INT, &two);
    t->glCopyNamedBufferSubData(first, copy, 0, 0, sizeof words);
    t->glGetNamedBufferSubData(copy, 0, sizeof words, words);
    for (int i = 0; i < WORDS; i++)
        first_kept = first_kept && words[i] == one;
    t->glCopyNamedBufferSubData(second, copy, 0, 0, sizeof words);
    t->glGetNamedBufferSubData(copy, 0, sizeof words, words);
    for (int i = 0; i < WORDS; i++)
        second_kept = second_kept && words[i] == two;
    culv_result result =
        culvi_gl_check_error(gl, label, "glCopyNamedBufferSubData", CULV_REASON_DRIVER_REFUSED,
                             "two small buffers could not be compared");
    if (result == CULV_OK)
        *out = first_kept && second_kept ? CULVI_GL_OFFSETS_HONOURED : CULVI_GL_OFFSETS_IGNORED;
    return result;
}

static culv_result try_offsets(const culv_gl *gl, const char *label, uint32_t memory,
                               culvi_gl_offsets *out)
{
    uint32_t first = 0, second = 0, copy = 0;
    culv_result result =
        culvi_gl_create_buffer(gl, label, WORDS * sizeof(uint32_t), memory, 0, &first);
    if (result == CULV_OK)
        result =
            culvi_gl_create_buffer(gl, label, WORDS * sizeof(uint32_t), memory, SECOND, &second);
    if (result == CULV_OK)
        result = culvi_gl_create_buffer(gl, label, WORDS * sizeof(uint32_t), 0, 0, &copy);
    if (result == CULV_OK) result = compare(gl, label, first, second, copy, out);
    gl->table.glDeleteBuffers(1, &copy);
    gl->table.glDeleteBuffers(1, &second);
    gl->table.glDeleteBuffers(1, &first);
    return result;
}

static culv_result probe(culv_gl *gl, const char *label, culvi_gl_offsets *out)
{
    culvi_gl_shape shape = {.label = "probe", .size = PROBE_BYTES};
    culvi_native native = {.object = 0};
    culvi_graphics *vk = NULL;
    culv_handle handle;
    uint32_t memory = 0;
    culv_result result = culvi_gl_exporter_get(gl, label, &vk);
    if (result == CULV_OK) result = culvi_gl_exporter_make(gl, &shape, &native);
    if (result != CULV_OK) return result;
    result = vk->api->export_memory(vk, label, native.memory, &handle);
    if (result == CULV_OK) {
        result = culvi_gl_import_handle(gl, label, &handle, native.size, native.dedicated, &memory);
        culvi_handle_close(&handle);
    }
    if (result == CULV_OK) {
        result = try_offsets(gl, label, memory, out);
        gl->table.glDeleteMemoryObjectsEXT(1, &memory);
    }
    vk->api->unmake(vk, &native);
    return result;
}

static culv_result find_out(culv_gl *gl, const char *label, culvi_gl_offsets *out)
{
    culvi_gl_offsets known = (culvi_gl_offsets)atomic_load(&gl->offsets);
    culv_result result = CULV_OK;
    if (known == CULVI_GL_OFFSETS_UNKNOWN) {
        result = probe(gl, label, &known);
        if (result != CULV_OK) return result;
        atomic_store(&gl->offsets, (int)known);
        culvi_log(culvi_gl_voice(gl), CULV_LOG_INFO, "'%s' %s offsets into memory objects",
                  gl->base.name, known == CULVI_GL_OFFSETS_HONOURED ? "honours" : "ignores");
    }
    *out = known;
    return CULV_OK;
}

culv_result culvi_gl_check_offset(culv_gl *gl, const char *label, uint64_t offset)
{
    culvi_gl_offsets known = CULVI_GL_OFFSETS_UNKNOWN;
    if (offset == 0) return CULV_OK;
    culv_result result = find_out(gl, label, &known);
    if (result != CULV_OK || known == CULVI_GL_OFFSETS_HONOURED) return result;
    return culvi_fail(
        culvi_gl_voice(gl), label, CULV_ERROR_UNSUPPORTED, CULV_REASON_RANGE,
        "'%s' ignores offsets into memory objects: from offset %" PRIu64
        " on it would show what is at 0. Give each buffer and texture an allocation of "
        "its own, or bind the whole memory as one buffer and use ranges of it "
        "(glBindBufferRange)",
        gl->base.name, offset);
}
