/* SPDX-License-Identifier: MIT */
/* Copies through the host: pages of Culvert's own, which CUDA pins and OpenGL reads and writes as
 * client memory. */
#include "gl/gl_object.h"

culv_result culvi_gl_stage(culvi_graphics *graphics, const char *label, culvi_staging *staging,
                           culvi_native *out)
{
    const culvi_voice *voice = &graphics->device->voice;
    const uint64_t page = culvi_page_size();
    if (staging->size > UINT64_MAX - page || staging->size > PTRDIFF_MAX)
        return culvi_fail_host_memory(voice, label);
    const uint64_t size = (staging->size + page - 1) / page * page;
    void *block = NULL;
    void *pages = culvi_alloc_pages(size, page, &block);
    if (pages == NULL) return culvi_fail_host_memory(voice, label);
    staging->host = pages;
    staging->block = block;
    *out = (culvi_native){.object = 0}; /* OpenGL has no part in it */
    return CULV_OK;
}

static const struct {
    uint32_t binding, target, names[8]; /* the alignment first */
} transfers[] = {
    {CULVI_GL_PIXEL_UNPACK_BUFFER_BINDING,
     CULVI_GL_PIXEL_UNPACK_BUFFER,
     {CULVI_GL_UNPACK_ALIGNMENT, CULVI_GL_UNPACK_ROW_LENGTH, CULVI_GL_UNPACK_SKIP_ROWS,
      CULVI_GL_UNPACK_SKIP_PIXELS, CULVI_GL_UNPACK_SWAP_BYTES, CULVI_GL_UNPACK_LSB_FIRST,
      CULVI_GL_UNPACK_IMAGE_HEIGHT, CULVI_GL_UNPACK_SKIP_IMAGES}},
    {CULVI_GL_PIXEL_PACK_BUFFER_BINDING,
     CULVI_GL_PIXEL_PACK_BUFFER,
     {CULVI_GL_PACK_ALIGNMENT, CULVI_GL_PACK_ROW_LENGTH, CULVI_GL_PACK_SKIP_ROWS,
      CULVI_GL_PACK_SKIP_PIXELS, CULVI_GL_PACK_SWAP_BYTES, CULVI_GL_PACK_LSB_FIRST,
      CULVI_GL_PACK_IMAGE_HEIGHT, CULVI_GL_PACK_SKIP_IMAGES}}};

culvi_gl_pixel_store culvi_gl_set_tight(const culvi_gl_table *t, bool pack, uint32_t buffer)
{
    culvi_gl_pixel_store was;
    t->glGetIntegerv(transfers[pack].binding, &was.buffer);
    t->glBindBuffer(transfers[pack].target, buffer);
    for (int i = 0; i < 8; i++) {
        t->glGetIntegerv(transfers[pack].names[i], &was.values[i]);
        t->glPixelStorei(transfers[pack].names[i], i == 0);
    }
    return was;
}

void culvi_gl_restore(const culvi_gl_table *t, bool pack, const culvi_gl_pixel_store *was)
{
    for (int i = 0; i < 8; i++)
        t->glPixelStorei(transfers[pack].names[i], was->values[i]);
    t->glBindBuffer(transfers[pack].target, (uint32_t)was->buffer);
}

static const char *upload_part(const culvi_gl_table *t, const culvi_gl_object *o,
                               const culvi_part *part, const void *from, uint32_t format,
                               uint32_t type)
{
    const int32_t level = (int32_t)part->level, width = (int32_t)part->width;
    const int32_t height = (int32_t)part->height, slices = (int32_t)culvi_part_slices(part);
    const bool blocks = type == 0;
    const int32_t second = o->target == CULVI_GL_TEXTURE_1D_ARRAY ? slices : height;
    const int32_t size = (int32_t)culvi_part_size(part);
    const bool flat = o->target == CULVI_GL_TEXTURE_2D || o->target == CULVI_GL_TEXTURE_1D_ARRAY;
    if (o->target == CULVI_GL_TEXTURE_1D) {
        t->glTextureSubImage1D(o->name, level, 0, width, format, type, from);
        return "glTextureSubImage1D";
    }
    if (flat && blocks) {
        t->glCompressedTextureSubImage2D(o->name, level, 0, 0, width, second, format, size, from);
        return "glCompressedTextureSubImage2D";
    }
    if (flat) {
        t->glTextureSubImage2D(o->name, level, 0, 0, width, second, format, type, from);
        return "glTextureSubImage2D";
    }
    if (blocks) {
        t->glCompressedTextureSubImage3D(o->name, level, 0, 0, 0, width, height, slices, format,
                                         size, from);
        return "glCompressedTextureSubImage3D";
    }
    t->glTextureSubImage3D(o->name, level, 0, 0, 0, width, height, slices, format, type, from);
    return "glTextureSubImage3D";
}

static const char *download_part(const culvi_gl_table *t, const culvi_gl_object *o,
                                 const culvi_part *part, void *to, uint32_t format, uint32_t type)
{
    const int32_t level = (int32_t)part->level, size = (int32_t)culvi_part_size(part);
    if (type == 0) {
        t->glGetCompressedTextureImage(o->name, level, size, to);
        return "glGetCompressedTextureImage";
    }
    t->glGetTextureImage(o->name, level, format, type, size, to);
    return "glGetTextureImage";
}

/* The whole texture, level by level. */
static culv_result copy_image(const culvi_pair *pair, bool up)
{
    const culv_gl *gl = culvi_gl_of(pair->graphics);
    const culvi_gl_object *o = culvi_gl_object_of(&pair->native);
    const culvi_staging *staging = pair->image->staging;
    const char *label = pair->image->label;
    uint32_t format = 0, type = 0;
    culv_result result = CULV_OK;
    /* The plan refused what has none. */
    (void)culvi_gl_texel_format(o->row, o->internal_format, &format, &type);
    culvi_gl_pixel_store was = culvi_gl_set_tight(&gl->table, !up, 0);
    for (uint32_t i = 0; i < staging->num_parts && result == CULV_OK; i++) {
        const culvi_part *part = &staging->parts[i];
        char *at = (char *)staging->host + part->offset;
        const char *call = up ? upload_part(&gl->table, o, part, at, format, type)
                              : download_part(&gl->table, o, part, at, format, type);
        result =
            culvi_gl_check(gl, label, call, "level %" PRIu32 " could not be copied %s host memory",
                           part->level, up ? "from" : "to");
    }
    culvi_gl_restore(&gl->table, !up, &was);
    return result;
}

static culv_result copy_buffer(const culvi_pair *pair, bool up)
{
    const culv_gl *gl = culvi_gl_of(pair->graphics);
    const culvi_gl_object *o = culvi_gl_object_of(&pair->native);
    const culv_buffer *cuda = pair->buffer;
    const ptrdiff_t size = (ptrdiff_t)cuda->size;
    if (up)
        gl->table.glNamedBufferSubData(o->name, 0, size, cuda->staging->host);
    else /* OpenGL's own memory, of which NVIDIA's driver keeps no old copy */
        gl->table.glGetNamedBufferSubData(o->name, 0, size, cuda->staging->host);
    return culvi_gl_check(gl, cuda->label, up ? "glNamedBufferSubData" : "glGetNamedBufferSubData",
                          "the buffer could not be copied %s host memory", up ? "from" : "to");
}

culv_result culvi_gl_copy(const culvi_pair *pair, bool up, bool finish, const char *call)
{
    const char *label = culvi_pair_label(pair);
    const bool is_image = pair->image != NULL;
    CULVI_TRY(culvi_check_made_by(pair->graphics, &culvi_gl_api, label, call));
    const culv_gl *gl = culvi_gl_of(pair->graphics);
    culv_result result = culvi_gl_enter(gl, label, call);
    if (result != CULV_OK || (is_image ? culv_image_sharing(pair->image)
                                       : culv_buffer_sharing(pair->buffer)) != CULV_SHARING_HOST)
        return result;
    if (finish) {
        /* The host is about to read what CUDA uploads. OpenGL's wait for CUDA may be the GPU's
         * alone (GL_EXT_semaphore), so the thread waits until OpenGL has come past it. */
        gl->table.glFinish();
        CULVI_TRY(
            culvi_gl_check(gl, label, "glFinish", "what CUDA uploads could not be waited for"));
    }
    return is_image ? copy_image(pair, up) : copy_buffer(pair, up);
}

culv_result culv_gl_copy(culv_shared_buffer *buffer, culv_shared_image *image, culv_copy copy)
{
    if (image == NULL) CULVI_REQUIRE(NULL, buffer);
    CULVI_TRY(culvi_check_copy(copy, __func__));
    CULVI_REFUSE_IF(image != NULL && buffer != NULL, NULL, NULL, CULV_REASON_VALUE,
                    "%s(): a buffer and an image; make a call for each", __func__);
    const bool up = copy == CULV_COPY_UPLOAD;
    const culvi_pair *pair = image != NULL ? &image->pair : &buffer->pair;
    return culvi_gl_copy(pair, up, up, __func__);
}
