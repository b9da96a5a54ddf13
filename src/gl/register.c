/* SPDX-License-Identifier: MIT */
/* Buffers and images of the caller's, registered with CUDA. The one place outside `core` that calls
 * CUDA: how an object is registered is different in each API. */
#include "gl/gl_register.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "cuda/context.h"

static const char *explain(CUresult code)
{
    switch ((int)code) {
    case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_UNKNOWN:
        return "the CUDA driver finds no OpenGL context of its own GPU on this thread, although one "
               "is current: it is another driver's (Mesa's, a remote desktop's), or another GPU's. "
               "culv_gl_check_context() says what to set";
    case CUDA_ERROR_INVALID_DEVICE:
        return "the context is another GPU's; culv_gl_check_context() names both";
    case CUDA_ERROR_INVALID_VALUE: return "the driver takes no object of this kind, size or format";
    case CUDA_ERROR_INVALID_HANDLE:
        return "the driver does not know the object: it must be there, with storage, in the context "
               "that is current on this thread";
    case CUDA_ERROR_ALREADY_MAPPED: return "it is mapped by another registration";
    default: return NULL;
    }
}

static CUresult make_buffer(const culv_device *device, const void *what, unsigned flags,
                            CUgraphicsResource *out)
{
    const culvi_gl_object_info *object = what;
    return CULVI_CU(device, cuGraphicsGLRegisterBuffer, (out, object->name, flags));
}

static CUresult make_image(const culv_device *device, const void *what, unsigned flags,
                           CUgraphicsResource *out)
{
    const culvi_gl_object_info *object = what;
    return CULVI_CU(device, cuGraphicsGLRegisterImage, (out, object->name, object->target, flags));
}

static culv_result destroy(culv_registration *r, const char *call)
{
    culv_gl *gl = r->attachment;
    /* A lost device has nothing left that the driver could unregister. */
    bool lost = atomic_load(&gl->lost);
    culv_result result = culvi_gl_enter_to_destroy(gl, r->memory.label, call);
    if (result == CULV_OK) result = culvi_registration_release(r, lost);
    if (result != CULV_OK) return result;
    culvi_gl_registration *mine = culvi_gl_registration_of(r);
    if (mine->readback != NULL) culvi_gl_readback_end(mine->readback);
    culvi_free(mine);
    culvi_graphics_unref(&gl->base);
    return CULV_OK;
}

static const culvi_registrar registrar = {
    .words = &culvi_gl_words, .explain = explain, .check = culvi_gl_check_turn, .destroy = destroy};

struct culvi_gl_readback *culvi_gl_readback_of(const culv_registration *r)
{
    return r->registrar == &registrar
               ? CULVI_CONTAINER(r, const culvi_gl_registration, base)->readback
               : NULL;
}

/* The descriptor, the context and the driver, before the object is looked at. */
static culv_result begin(culv_gl *gl, const culv_gl_register_desc *desc, culv_gl_register_desc *d,
                         const char *call)
{
    const culvi_voice *voice = culvi_gl_voice(gl);
    *d = culv_gl_register_desc_init();
    culv_result result = desc != NULL
                             ? culvi_desc_read(voice, d, sizeof *d, desc, "culv_gl_register_desc")
                             : CULV_OK;
    if (result != CULV_OK) return result;
    result = culvi_check_access(voice, d->label, "culv_gl_register_desc.access", d->access);
    if (result != CULV_OK) return result;
    if (gl->base.foreign)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
                          "%s(): the context is of '%s', and CUDA registers objects of its own "
                          "device '%s' alone; make them by culv_gl_buffer_create() or "
                          "culv_gl_image_create() with a fallback, which copies",
                          call, gl->base.name, gl->base.device->caps.name);
    const culvi_cuda *cuda = gl->base.device->cuda;
    if (cuda->cuGraphicsGLRegisterBuffer == NULL || cuda->cuGraphicsGLRegisterImage == NULL ||
        cuda->cuGraphicsMapResources == NULL)
        return culvi_fail(voice, d->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
                          "%s(): the CUDA driver has no cuGraphicsGLRegisterBuffer: it registers "
                          "no objects of OpenGL on this system",
                          call);
    return culvi_gl_enter(gl, d->label, call);
}

static unsigned flags_of(const culv_gl_register_desc *d, bool image)
{
    unsigned flags = d->access == CULV_ACCESS_READ_ONLY ? CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY
                     : d->access == CULV_ACCESS_WRITE_DISCARD
                         ? CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD
                         : CU_GRAPHICS_REGISTER_FLAGS_NONE;
    if (image && !d->no_surfaces) flags |= CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST;
    if (image && d->texture_gather) flags |= CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER;
    return flags;
}

static culv_result finish(culv_gl *gl, const culv_gl_register_desc *d, culvi_register_plan *plan,
                          const culvi_gl_object_info *object, culv_registration **out)
{
    culvi_gl_registration *made = culvi_alloc(sizeof *made);
    if (made == NULL) return culvi_fail_host_memory(culvi_gl_voice(gl), d->label);
    made->object = *object;
    made->asks_object = d->unchecked == 0;
    plan->registrar = &registrar;
    plan->attachment = gl;
    plan->label = d->label;
    plan->unchecked = d->unchecked != 0;
    plan->what = &made->object;
    culv_result result = culvi_registration_make(gl->base.device, plan, &made->base);
    if (result != CULV_OK) {
        culvi_free(made);
        return result;
    }
    culvi_graphics_ref(&gl->base);
    *out = &made->base;
    return CULV_OK;
}

culv_result culv_gl_register_buffer(culv_gl *gl, uint32_t buffer, const culv_gl_register_desc *desc,
                                    culv_registration **out)
{
    culv_gl_register_desc d;
    culvi_gl_object_info object;
    CULVI_REQUIRE(NULL, gl);
    CULVI_REQUIRE(culvi_gl_voice(gl), out);
    culv_result result = begin(gl, desc, &d, "culv_gl_register_buffer");
    if (result == CULV_OK) result = culvi_gl_look_at_buffer(gl, d.label, buffer, &object);
    if (result != CULV_OK) return result;
    culvi_register_plan plan = {.size = object.size,
                                .flags = flags_of(&d, false),
                                .make = make_buffer,
                                .call = "cuGraphicsGLRegisterBuffer"};
    return finish(gl, &d, &plan, &object, out);
}

culv_result culv_gl_register_image(culv_gl *gl, uint32_t name, uint32_t target,
                                   const culv_gl_register_desc *desc, culv_registration **out)
{
    culv_gl_register_desc d;
    culvi_gl_object_info object;
    culv_image_desc image = culv_image_desc_init();
    CULVI_REQUIRE(NULL, gl);
    CULVI_REQUIRE(culvi_gl_voice(gl), out);
    culv_result result = begin(gl, desc, &d, "culv_gl_register_image");
    if (result == CULV_OK) result = culvi_gl_look_at_image(gl, d.label, name, target, &object);
    if (result == CULV_OK) result = culvi_gl_describe_image(gl, d.label, &object, &image);
    if (result != CULV_OK) return result;
    image.no_surfaces = d.no_surfaces != 0;
    image.texture_gather = d.texture_gather != 0;
    culvi_register_plan plan = {.image = &image,
                                .row = culvi_format_find((uint32_t)image.format),
                                .flags = flags_of(&d, true),
                                .make = make_image,
                                .call = "cuGraphicsGLRegisterImage"};
    return finish(gl, &d, &plan, &object, out);
}

culv_result culvi_gl_unregister(culv_registration **registration, const char *call)
{
    culv_result result = destroy(*registration, call);
    if (result == CULV_OK) *registration = NULL;
    return result;
}
