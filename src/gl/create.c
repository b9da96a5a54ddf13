/* SPDX-License-Identifier: MIT */
/* Buffers and textures that Culvert makes: the calls. */
#include "base/alloc.h"
#include "base/desc.h"
#include "gl/gl_object.h"

#include <inttypes.h>

/* Buffers -------------------------------------------------------------------------------------- */

culv_result culvi_gl_check_buffer_size(const culv_gl *gl, const culv_gl_buffer_create_desc *d)
{
    if (d->size != 0 && d->size <= PTRDIFF_MAX) return CULV_OK;
    return culvi_fail(culvi_gl_voice(gl), d->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                      "culv_gl_buffer_create_desc.size is %" PRIu64, d->size);
}

culv_result culvi_gl_make_buffer(culv_gl *gl, const culv_gl_buffer_create_desc *desc,
                                 bool only_host, culv_gl_buffer **out)
{
    const culv_gl_buffer_create_desc d = *desc;
    culv_result result = culvi_gl_check_buffer_size(gl, &d);
    if (result != CULV_OK) return result;
    const culvi_gl_shape shape = {.label = d.label, .size = d.size};
    culvi_plan plan = {.label = d.label,
                       .desc = &shape,
                       .desc_name = "culv_gl_buffer_create_desc",
                       .fallback = d.fallback,
                       .only_host = only_host};
    culvi_pair *pair = NULL;
    result = culvi_pair_create(&gl->base, &plan, &pair);
    if (result == CULV_OK) *out = CULVI_CONTAINER(pair, culv_gl_buffer, pair);
    return result;
}

culv_result culv_gl_buffer_create(culv_gl *gl, const culv_gl_buffer_create_desc *desc,
                                  culv_gl_buffer **out)
{
    culv_gl_buffer_create_desc d;
    CULVI_REQUIRE(NULL, gl);
    const culvi_voice *voice = culvi_gl_voice(gl);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_gl_buffer_create_desc");
    if (result == CULV_OK) result = culvi_gl_enter(gl, d.label, __func__);
    return result == CULV_OK ? culvi_gl_make_buffer(gl, &d, false, out) : result;
}

static culv_result destroy_buffer(culv_gl_buffer **buffer, bool has_last_use, CUstream last_use,
                                  const char *call)
{
    if (buffer == NULL || *buffer == NULL) return CULV_OK;
    culv_gl_buffer *mine = *buffer;
    culv_result result =
        culvi_gl_enter_to_destroy(culvi_gl_of(mine->pair.graphics), mine->pair.buffer->label, call);
    if (result != CULV_OK) return result;
    *buffer = NULL;
    culvi_pair_destroy(&mine->pair, has_last_use, last_use);
    return CULV_OK;
}

culv_result culv_gl_buffer_destroy(culv_gl_buffer **buffer)
{
    return destroy_buffer(buffer, false, NULL, __func__);
}

culv_result culv_gl_buffer_destroy_after(culv_gl_buffer **buffer, CUstream last_use)
{
    return destroy_buffer(buffer, true, last_use, __func__);
}

uint32_t culv_gl_buffer_name(const culv_gl_buffer *buffer)
{
    return buffer != NULL ? culvi_gl_object_of(&buffer->pair.native)->name : 0;
}

culv_buffer *culv_gl_buffer_cuda(const culv_gl_buffer *buffer)
{
    return buffer != NULL ? buffer->pair.buffer : NULL;
}

CUdeviceptr culv_gl_buffer_pointer(const culv_gl_buffer *buffer)
{
    return culv_buffer_pointer(culv_gl_buffer_cuda(buffer));
}

/* Textures ------------------------------------------------------------------------------------- */

culv_result culvi_gl_make_image(culv_gl *gl, const culv_gl_image_create_desc *desc, bool only_host,
                                culv_gl_image **out)
{
    const culv_gl_image_create_desc d = *desc;
    culvi_gl_shape shape;
    culv_result result = culvi_gl_read_shape(gl, &d, &shape);
    if (result != CULV_OK) return result;
    culvi_plan plan = {.label = d.label,
                       .desc = &shape,
                       .desc_name = "culv_gl_image_create_desc",
                       .fallback = d.fallback,
                       .only_host = only_host,
                       .is_image = true};
    culvi_pair *pair = NULL;
    result = culvi_pair_create(&gl->base, &plan, &pair);
    if (result == CULV_OK) *out = CULVI_CONTAINER(pair, culv_gl_image, pair);
    return result;
}

culv_result culv_gl_image_create(culv_gl *gl, const culv_gl_image_create_desc *desc,
                                 culv_gl_image **out)
{
    culv_gl_image_create_desc d;
    CULVI_REQUIRE(NULL, gl);
    const culvi_voice *voice = culvi_gl_voice(gl);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_gl_image_create_desc");
    if (result == CULV_OK) result = culvi_gl_enter(gl, d.label, __func__);
    return result == CULV_OK ? culvi_gl_make_image(gl, &d, false, out) : result;
}

static culv_result destroy_image(culv_gl_image **image, bool has_last_use, CUstream last_use,
                                 const char *call)
{
    if (image == NULL || *image == NULL) return CULV_OK;
    culv_gl_image *mine = *image;
    culv_result result =
        culvi_gl_enter_to_destroy(culvi_gl_of(mine->pair.graphics), mine->pair.image->label, call);
    if (result != CULV_OK) return result;
    *image = NULL;
    culvi_pair_destroy(&mine->pair, has_last_use, last_use);
    return CULV_OK;
}

culv_result culv_gl_image_destroy(culv_gl_image **image)
{
    return destroy_image(image, false, NULL, __func__);
}

culv_result culv_gl_image_destroy_after(culv_gl_image **image, CUstream last_use)
{
    return destroy_image(image, true, last_use, __func__);
}

uint32_t culv_gl_image_name(const culv_gl_image *image)
{
    return image != NULL ? culvi_gl_object_of(&image->pair.native)->name : 0;
}

uint32_t culv_gl_image_target(const culv_gl_image *image)
{
    return image != NULL ? culvi_gl_object_of(&image->pair.native)->target : 0;
}

culv_image *culv_gl_image_cuda(const culv_gl_image *image)
{
    return image != NULL ? image->pair.image : NULL;
}
