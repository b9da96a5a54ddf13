/* SPDX-License-Identifier: MIT */
/* GL objects in memory objects. */
#ifndef CULVI_GL_OBJECT_H_
#define CULVI_GL_OBJECT_H_

#include "gl/gl_core.h"

/* The exporter: where exportable memory and semaphores come from, which is the caller's
 * culv_vk_device, or a small VkDevice of Culvert's own on the context's GPU, made when it is first
 * needed. OpenGL itself exports nothing. */

/* Refuses a descriptor's `vk` that is not the device's. */
culv_result culvi_gl_exporter_check(const culv_device *device, const culv_gl_desc *desc);
/* The Vulkan attachment, by its own table (graphics/graphics.h). Makes it when there is none. */
culv_result culvi_gl_exporter_get(culv_gl *gl, const char *label, culvi_graphics **out);
/* Holds the caller's attachment; lets that go, and frees what was made. Makes no OpenGL call. */
void culvi_gl_exporter_hold(culv_gl *gl);
void culvi_gl_exporter_free(culv_gl *gl);

/* A buffer or a texture. */
typedef struct culvi_gl_shape {
    const char *label;
    bool is_image;
    uint64_t size; /* a buffer's */
    uint32_t target, internal_format;
    const culvi_format *row;
    culv_image_type type;
    uint32_t width, height, depth, layers, levels;
    culv_texels texels;
    bool no_surfaces;
} culvi_gl_shape;

/* Whether Vulkan exports memory for it, and how CUDA maps it: fills in what api->plan() fills in,
 * unless `plan` is NULL. With `made` it makes the memory, with Vulkan's own resource in it. */
culv_result culvi_gl_exporter_run(culv_gl *gl, const culvi_gl_shape *shape, culvi_plan *plan,
                                  culvi_native *made);

/* Objects */

struct culv_gl_memory {
    culv_gl *gl; /* a reference */
    uint32_t name;
    uint64_t size;
    bool dedicated;
    char label[64];
};

/* culvi_native::object of a buffer or a texture: a pointer to this. */
typedef struct culvi_gl_object {
    uint32_t name;
    uint32_t target; /* 0: a buffer */
    uint32_t internal_format;
    uint32_t memory; /* GL memory object; 0: memory of OpenGL's own */
    const culvi_format *row;
    culvi_native vk;          /* what was exported; object 0: nothing */
    culvi_graphics *exporter; /* that made it */
} culvi_gl_object;

static inline culvi_gl_object *culvi_gl_object_of(const culvi_native *native)
{
    return (culvi_gl_object *)(uintptr_t)native->object;
}

/* resource.c. The calls without their checks of arguments and context. `only_host`: with copies
 * through the host, even where it could be shared. */
culv_result culvi_gl_check_buffer_size(const culv_gl *gl, const culv_gl_buffer_create_desc *d);
culv_result culvi_gl_make_buffer(culv_gl *gl, const culv_gl_buffer_create_desc *d, bool only_host,
                                 culv_shared_buffer **out);
culv_result culvi_gl_make_image(culv_gl *gl, const culv_gl_image_create_desc *d, bool only_host,
                                culv_shared_image **out);

/* Creates a name and gives it storage. `memory` 0: of OpenGL's own. Nothing is left
 * after an error. */
culv_result culvi_gl_create_buffer(const culv_gl *gl, const char *label, uint64_t size,
                                   uint32_t memory, uint64_t offset, uint32_t *out);
culv_result culvi_gl_create_texture(const culv_gl *gl, const culvi_gl_shape *shape, uint32_t memory,
                                    uint32_t *out);
/* Gives a texture that has none its storage. */
culv_result culvi_gl_texture_storage(const culv_gl *gl, const culvi_gl_shape *shape,
                                     uint32_t texture, uint32_t tiling, uint32_t memory,
                                     uint64_t offset);
/* Reads a public description; every default is explicit afterwards. */
culv_result culvi_gl_read_shape(const culv_gl *gl, const culv_gl_image_create_desc *d,
                                culvi_gl_shape *out);
/* OpenGL's format and type of the texels in client memory, as they are stored. False: it has
 * none. */
bool culvi_gl_texel_format(const culvi_format *row, uint32_t internal_format, uint32_t *format,
                           uint32_t *type);

/* memory.c. A GL memory object of a handle, which stays the caller's. */
culv_result culvi_gl_import_handle(const culv_gl *gl, const char *label, const culv_handle *handle,
                                   uint64_t size, bool dedicated, uint32_t *out);

#endif
