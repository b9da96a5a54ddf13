/* SPDX-License-Identifier: MIT */
/* culv_gl_registration: buffers and images of the caller's, registered with CUDA. The one place
 * outside `core` that calls CUDA: how an object is registered is different in each API. */
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
               "culv_gl_check() says what to set";
    case CUDA_ERROR_INVALID_DEVICE:
        return "the context is another GPU's; culv_gl_check() names both";
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
    if ((uint32_t)d->access > CULV_GL_WRITE_DISCARD)
        return culvi_fail(voice, d->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_gl_register_desc.access is %d, which is no culv_gl_access",
                          (int)d->access);
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
    unsigned flags = d->access == CULV_GL_READ_ONLY       ? CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY
                     : d->access == CULV_GL_WRITE_DISCARD ? CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD
                                                          : CU_GRAPHICS_REGISTER_FLAGS_NONE;
    if (image && !d->no_surfaces) flags |= CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST;
    if (image && d->texture_gather) flags |= CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER;
    return flags;
}

static culv_result finish(culv_gl *gl, const culv_gl_register_desc *d, culvi_register_plan *plan,
                          const culvi_gl_object_info *object, culv_gl_registration **out)
{
    culv_gl_registration *made = culvi_alloc(sizeof *made);
    if (made == NULL) return culvi_fail_host_memory(culvi_gl_voice(gl), d->label);
    made->gl = gl;
    made->object = *object;
    made->asks_object = made->asks_caller = d->unchecked == 0;
    plan->words = &culvi_gl_words;
    plan->destroy_call = "culv_gl_unregister";
    plan->label = d->label;
    plan->what = &made->object;
    plan->explain = explain;
    culv_result result = culvi_registered_make(gl->base.device, plan, &made->base);
    if (result != CULV_OK) {
        culvi_free(made);
        return result;
    }
    culvi_graphics_ref(&gl->base);
    *out = made;
    return CULV_OK;
}

culv_result culvi_gl_register_buffer(culv_gl *gl, uint32_t buffer, const culv_gl_register_desc *d,
                                     culv_gl_registration **out)
{
    culvi_gl_object_info object;
    culvi_register_plan plan = {
        .flags = flags_of(d, false), .make = make_buffer, .call = "cuGraphicsGLRegisterBuffer"};
    culv_result result = culvi_gl_look_at_buffer(gl, d->label, buffer, &object);
    if (result != CULV_OK) return result;
    plan.size = object.size;
    return finish(gl, d, &plan, &object, out);
}

culv_result culv_gl_register_buffer(culv_gl *gl, uint32_t buffer, const culv_gl_register_desc *desc,
                                    culv_gl_registration **out)
{
    culv_gl_register_desc d;
    CULVI_REQUIRE(NULL, gl);
    CULVI_REQUIRE(culvi_gl_voice(gl), out);
    culv_result result = begin(gl, desc, &d, "culv_gl_register_buffer");
    return result == CULV_OK ? culvi_gl_register_buffer(gl, buffer, &d, out) : result;
}

culv_result culv_gl_register_image(culv_gl *gl, uint32_t name, uint32_t target,
                                   const culv_gl_register_desc *desc, culv_gl_registration **out)
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

culv_result culvi_gl_unregister(culv_gl_registration **registration, const char *call)
{
    culv_gl_registration *mine = *registration;
    culv_gl *gl = mine->gl;
    /* A lost device has nothing left that the driver could unregister. */
    bool lost = atomic_load(&gl->lost);
    culv_result result = culvi_gl_enter_to_destroy(gl, mine->base.memory.label, call);
    if (result == CULV_OK) result = culvi_registered_release(&mine->base, lost);
    if (result != CULV_OK) return result;
    *registration = NULL;
    culvi_free(mine);
    culvi_graphics_unref(&gl->base);
    return CULV_OK;
}

culv_result culv_gl_unregister(culv_gl_registration **registration)
{
    if (registration == NULL || *registration == NULL) return CULV_OK;
    const culv_gl_registration *r = *registration;
    if (r->owned)
        return culvi_fail(culvi_gl_voice(r->gl), r->base.memory.label, CULV_ERROR_INVALID,
                          CULV_REASON_OWNED,
                          "culv_gl_unregister() refused: the object is a part of another one; call "
                          "%s()",
                          r->base.buffer.owner_destroy_call);
    return culvi_gl_unregister(registration, "culv_gl_unregister");
}

/* Map and unmap -------------------------------------------------------------------------------- */

static culvi_registered *entry_of(const void *list, uint32_t i)
{
    culv_gl_registration *const *registrations = list;
    return registrations[i] != NULL ? &registrations[i]->base : NULL;
}

static culv_result enter(culv_gl_registration *const *list, uint32_t count, const char *call,
                         culvi_registered_list *out)
{
    if (list == NULL || list[0] == NULL)
        return culvi_fail_null(NULL, call, list == NULL ? "registrations" : "registrations[0]");
    culv_gl *gl = list[0]->gl;
    bool asks = list[0]->asks_caller;
    for (uint32_t i = 1; i < count; i++) {
        if (list[i] == NULL) continue;
        asks = asks || list[i]->asks_caller;
        if (list[i]->gl != gl)
            return culvi_fail(culvi_gl_voice(gl), list[i]->base.memory.label, CULV_ERROR_INVALID,
                              CULV_REASON_VALUE,
                              "%s(): entry %u was registered by another attachment than entry 0",
                              call, (unsigned)i);
    }
    *out = (culvi_registered_list){list, count, entry_of, asks};
    if (!asks && !atomic_load(&gl->lost)) return CULV_OK;
    return culvi_gl_enter_frame(gl, list[0]->base.memory.label, call);
}

/* Whether a look asks OpenGL so that its errors come of it: an earlier one is taken before. */
static bool takes_errors(const culv_gl_registration *r)
{
    return r->object.target != 0 && !r->object.immutable;
}

/* A map is called for each frame, so a look is one call of OpenGL where it can be. */
static culv_result look(const culv_gl_registration *r)
{
    if (takes_errors(r)) culvi_gl_take_error(r->gl, "culv_gl_map");
    return culvi_gl_look_again(r->gl, r->base.memory.label, "culv_gl_map", &r->object);
}

culv_result culv_gl_map(culv_gl_registration *const *registrations, uint32_t count, CUstream stream)
{
    if (count == 0) return CULV_OK;
    culvi_registered_list list;
    culv_result result = enter(registrations, count, "culv_gl_map", &list);
    for (uint32_t i = 0; result == CULV_OK && i < count; i++)
        if (registrations[i] != NULL && registrations[i]->asks_object)
            result = look(registrations[i]);
    return result == CULV_OK ? culvi_registered_map(&list, stream, "culv_gl_map") : result;
}

culv_result culv_gl_unmap(culv_gl_registration *const *registrations, uint32_t count,
                          CUstream stream)
{
    if (count == 0) return CULV_OK;
    culvi_registered_list list;
    culv_result result = enter(registrations, count, "culv_gl_unmap", &list);
    return result == CULV_OK ? culvi_registered_unmap(&list, stream, "culv_gl_unmap") : result;
}

/* Getters -------------------------------------------------------------------------------------- */

void culvi_gl_registration_own(culv_gl_registration *registration, const char *destroy_call)
{
    registration->owned = true;
    registration->base.buffer.owner_destroy_call = destroy_call;
    if (registration->base.image != NULL)
        registration->base.image->owner_destroy_call = destroy_call;
}

culv_bool culv_gl_registration_is_mapped(const culv_gl_registration *registration)
{
    return registration != NULL && registration->base.mapped;
}

culv_buffer *culv_gl_registration_buffer(const culv_gl_registration *registration)
{
    if (registration == NULL || registration->object.target != 0) return NULL;
    return (culv_buffer *)(uintptr_t)&registration->base.buffer;
}

culv_image *culv_gl_registration_image(const culv_gl_registration *registration)
{
    return registration != NULL ? registration->base.image : NULL;
}

CUdeviceptr culv_gl_registration_pointer(const culv_gl_registration *registration)
{
    return registration != NULL ? registration->base.buffer.pointer : 0;
}

culv_result culv_gl_registration_get_array(const culv_gl_registration *registration, uint32_t layer,
                                           uint32_t level, CUarray *out)
{
    CULVI_REQUIRE(NULL, registration);
    CULVI_REQUIRE(culvi_gl_voice(registration->gl), out);
    return culvi_registered_get_array(&registration->base, layer, level, out,
                                      "culv_gl_registration_get_array");
}

culv_result culv_gl_registration_set_access(culv_gl_registration *registration,
                                            culv_gl_access access)
{
    CULVI_REQUIRE(NULL, registration);
    if ((uint32_t)access > CULV_GL_WRITE_DISCARD)
        return culvi_fail(culvi_gl_voice(registration->gl), registration->base.memory.label,
                          CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_gl_registration_set_access(): %d is no culv_gl_access",
                          (int)access);
    /* CUgraphicsMapResourceFlags has the same numbers. */
    return culvi_registered_set_flags(&registration->base, (unsigned)access);
}
