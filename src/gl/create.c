/* SPDX-License-Identifier: MIT */
/* Buffers and textures that Culvert makes: the calls. */
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
                                 bool only_host, culv_shared_buffer **out)
{
    culv_result result = culvi_gl_check_buffer_size(gl, desc);
    if (result != CULV_OK) return result;
    const culvi_gl_shape shape = {.label = desc->label, .size = desc->size};
    culvi_plan plan = {.label = desc->label,
                       .desc = &shape,
                       .desc_name = "culv_gl_buffer_create_desc",
                       .fallback = desc->fallback,
                       .only_host = only_host};
    return culvi_shared_buffer_create(&gl->base, &plan, out);
}

culv_result culv_gl_buffer_create(culv_gl *gl, const culv_gl_buffer_create_desc *desc,
                                  culv_shared_buffer **out)
{
    culv_gl_buffer_create_desc d;
    CULVI_REQUIRE(NULL, gl);
    const culvi_voice *voice = culvi_gl_voice(gl);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_gl_buffer_create_desc");
    if (result == CULV_OK) result = culvi_gl_enter(gl, d.label, __func__);
    return result == CULV_OK ? culvi_gl_make_buffer(gl, &d, false, out) : result;
}

uint32_t culv_gl_buffer_name(const culv_shared_buffer *buffer)
{
    const culvi_native *half = culvi_buffer_half(buffer, &culvi_gl_api);
    return half != NULL ? culvi_gl_object_of(half)->name : 0;
}

/* Textures ------------------------------------------------------------------------------------- */

culv_result culvi_gl_make_image(culv_gl *gl, const culv_gl_image_create_desc *desc, bool only_host,
                                culv_shared_image **out)
{
    culvi_gl_shape shape;
    culv_result result = culvi_gl_read_shape(gl, desc, &shape);
    if (result != CULV_OK) return result;
    culvi_plan plan = {.label = desc->label,
                       .desc = &shape,
                       .desc_name = "culv_gl_image_create_desc",
                       .fallback = desc->fallback,
                       .only_host = only_host};
    return culvi_shared_image_create(&gl->base, &plan, out);
}

culv_result culv_gl_image_create(culv_gl *gl, const culv_gl_image_create_desc *desc,
                                 culv_shared_image **out)
{
    culv_gl_image_create_desc d;
    CULVI_REQUIRE(NULL, gl);
    const culvi_voice *voice = culvi_gl_voice(gl);
    CULVI_REQUIRE2(voice, desc, out);
    culv_result result = culvi_desc_read(voice, &d, sizeof d, desc, "culv_gl_image_create_desc");
    if (result == CULV_OK && d.linear)
        result = culvi_fail(voice, d.label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                            "culv_gl_image_create_desc.linear is for culv_gl_memory_bind() alone");
    if (result == CULV_OK) result = culvi_gl_enter(gl, d.label, __func__);
    return result == CULV_OK ? culvi_gl_make_image(gl, &d, false, out) : result;
}

uint32_t culv_gl_image_name(const culv_shared_image *image)
{
    const culvi_native *half = culvi_image_half(image, &culvi_gl_api);
    return half != NULL ? culvi_gl_object_of(half)->name : 0;
}
