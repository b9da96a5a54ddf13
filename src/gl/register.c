/* SPDX-License-Identifier: MIT */
/* Buffers and images of the caller's, registered with CUDA: what OpenGL says of one, what CUDA does
 * not register, and what to do instead. The rules are those of cudaGL.h,
 * cuGraphicsGLRegisterImage. */
#include "gl/gl_register.h"

#include "cuda/context.h"

static culv_result refuse(const culv_gl *gl, const char *label, const char *what,
                          const char *instead)
{
    return culvi_fail(gl->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_USAGE,
                      "CUDA registers no %s; %s", what, instead);
}

static culv_result no_object(const culv_gl *gl, const char *label, const char *kind, uint32_t name)
{
    return culvi_fail(gl->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "the context that is current has no %s %" PRIu32
                      "; was it deleted, or made in a context that shares nothing with this one?",
                      kind, name);
}

static culv_result no_storage(const culv_gl *gl, const char *label, const char *kind, uint32_t name,
                              const char *how)
{
    return culvi_fail(gl->voice, label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                      "%s %" PRIu32 " has no storage yet; give it some first (%s)", kind, name,
                      how);
}

static culv_result look_at_buffer(const culv_gl *gl, const char *label, uint32_t name,
                                  culvi_gl_object_info *out)
{
    const culvi_gl_table *t = &gl->table;
    int64_t size = 0;
    int32_t immutable = 0;
    *out = (culvi_gl_object_info){.name = name};
    if (!t->glIsBuffer(name)) return no_object(gl, label, "buffer", name);
    t->glGetNamedBufferParameteri64v(name, CULVI_GL_BUFFER_SIZE, &size);
    t->glGetNamedBufferParameteriv(name, CULVI_GL_BUFFER_IMMUTABLE_STORAGE, &immutable);
    culvi_gl_drop_errors(&gl->table);
    if (size <= 0) return no_storage(gl, label, "buffer", name, "glNamedBufferData");
    out->size = (uint64_t)size;
    out->immutable = immutable != 0;
    return CULV_OK;
}

/* Targets ------------------------------------------------------------------------------------- */

static const struct {
    uint32_t target;
    const char *name;    /* as in "no ..." */
    const char *instead; /* NULL: it is registered */
} targets[] = {
    {CULVI_GL_TEXTURE_2D, "GL_TEXTURE_2D", NULL},
    {CULVI_GL_TEXTURE_RECTANGLE, "GL_TEXTURE_RECTANGLE", NULL},
    {CULVI_GL_TEXTURE_CUBE_MAP, "GL_TEXTURE_CUBE_MAP", NULL},
    {CULVI_GL_TEXTURE_3D, "GL_TEXTURE_3D", NULL},
    {CULVI_GL_TEXTURE_2D_ARRAY, "GL_TEXTURE_2D_ARRAY", NULL},
    {CULVI_GL_RENDERBUFFER, "GL_RENDERBUFFER", NULL},
    {CULVI_GL_TEXTURE_1D, "GL_TEXTURE_1D", "use a GL_TEXTURE_2D of one row"},
    {CULVI_GL_TEXTURE_1D_ARRAY, "GL_TEXTURE_1D_ARRAY",
     "use a GL_TEXTURE_2D, with a row for each layer"},
    {CULVI_GL_TEXTURE_CUBE_MAP_ARRAY, "GL_TEXTURE_CUBE_MAP_ARRAY",
     "register a GL_TEXTURE_2D_ARRAY of all faces, and draw with a view of it (glTextureView); or make the texture by culv_gl_image_create()"},
    {CULVI_GL_TEXTURE_BUFFER, "GL_TEXTURE_BUFFER",
     "register the buffer behind it (culv_gl_register_buffer())"},
    {CULVI_GL_TEXTURE_2D_MULTISAMPLE, "GL_TEXTURE_2D_MULTISAMPLE",
     "resolve and read it by culv_gl_readback_create(), or resolve it into a texture of one sample (glBlitNamedFramebuffer) and register that"},
    {CULVI_GL_TEXTURE_2D_MULTISAMPLE_ARRAY, "GL_TEXTURE_2D_MULTISAMPLE_ARRAY",
     "resolve and read its layers by culv_gl_readback_create()"},
};
enum { NUM_TARGETS = sizeof targets / sizeof targets[0] };

static culv_result check_target(const culv_gl *gl, const char *label, uint32_t target)
{
    for (int i = 0; i < NUM_TARGETS; i++) {
        if (targets[i].target != target) continue;
        return targets[i].instead == NULL ? CULV_OK
                                          : refuse(gl, label, targets[i].name, targets[i].instead);
    }
    return culvi_fail(gl->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "%#" PRIx32 " is no target of a texture, and not GL_RENDERBUFFER", target);
}

static const char *target_name(uint32_t target)
{
    for (int i = 0; i < NUM_TARGETS; i++)
        if (targets[i].target == target) return targets[i].name;
    return "another target";
}

/* Objects -------------------------------------------------------------------------------------- */

static culv_result look_at_renderbuffer(const culv_gl *gl, const char *label,
                                        culvi_gl_object_info *out)
{
    const culvi_gl_table *t = &gl->table;
    if (!t->glIsRenderbuffer(out->name)) return no_object(gl, label, "renderbuffer", out->name);
    t->glGetNamedRenderbufferParameteriv(out->name, CULVI_GL_RENDERBUFFER_WIDTH, &out->width);
    t->glGetNamedRenderbufferParameteriv(out->name, CULVI_GL_RENDERBUFFER_HEIGHT, &out->height);
    t->glGetNamedRenderbufferParameteriv(out->name, CULVI_GL_RENDERBUFFER_SAMPLES, &out->samples);
    t->glGetNamedRenderbufferParameteriv(out->name, CULVI_GL_RENDERBUFFER_INTERNAL_FORMAT,
                                         &out->internal_format);
    out->depth = 1;
    out->levels = 1;
    return CULV_OK;
}

static void look_at_level(const culv_gl *gl, culvi_gl_object_info *out, int32_t level)
{
    const culvi_gl_table *t = &gl->table;
    t->glGetTextureLevelParameteriv(out->name, level, CULVI_GL_TEXTURE_WIDTH, &out->width);
    t->glGetTextureLevelParameteriv(out->name, level, CULVI_GL_TEXTURE_HEIGHT, &out->height);
    t->glGetTextureLevelParameteriv(out->name, level, CULVI_GL_TEXTURE_DEPTH, &out->depth);
    t->glGetTextureLevelParameteriv(out->name, level, CULVI_GL_TEXTURE_INTERNAL_FORMAT,
                                    &out->internal_format);
}

/* The levels that there are, one after another from 0 on. */
static uint32_t count_levels(const culv_gl *gl, const culvi_gl_object_info *object)
{
    const culvi_gl_table *t = &gl->table;
    int32_t most = 1;
    if (object->target == CULVI_GL_TEXTURE_RECTANGLE) return 1;
    if (object->immutable) {
        t->glGetTextureParameteriv(object->name, CULVI_GL_TEXTURE_IMMUTABLE_LEVELS, &most);
        return most > 0 ? (uint32_t)most : 1;
    }
    t->glGetTextureParameteriv(object->name, CULVI_GL_TEXTURE_MAX_LEVEL, &most);
    const bool solid = object->target == CULVI_GL_TEXTURE_3D;
    const uint32_t chain = culvi_image_most_levels(
        (uint32_t)object->width, (uint32_t)object->height, solid ? (uint32_t)object->depth : 1);
    uint32_t levels = 1;
    for (; levels < chain && (int32_t)levels <= most; levels++) {
        culvi_gl_object_info next = {.name = object->name};
        look_at_level(gl, &next, (int32_t)levels);
        if (next.internal_format != object->internal_format ||
            next.width != (int32_t)culvi_level_size((uint32_t)object->width, levels) ||
            next.height != (int32_t)culvi_level_size((uint32_t)object->height, levels))
            break;
    }
    return levels;
}

/* GL_ARB_bindless_texture: a texture that has a handle takes no parameter any longer. CUDA Guide:
 * one that has a handle cannot be registered. */
static bool has_handle(const culv_gl *gl, uint32_t name)
{
    const culvi_gl_table *t = &gl->table;
    int32_t most = 0;
    t->glGetTextureParameteriv(name, CULVI_GL_TEXTURE_MAX_LEVEL, &most);
    if (t->glGetError() != CULVI_GL_NO_ERROR) return false;
    t->glTextureParameteri(name, CULVI_GL_TEXTURE_MAX_LEVEL, most);
    return t->glGetError() == CULVI_GL_INVALID_OPERATION;
}

static culv_result look_at_texture(const culv_gl *gl, const char *label, culvi_gl_object_info *out)
{
    const culvi_gl_table *t = &gl->table;
    int32_t is = 0, immutable = 0;
    if (!t->glIsTexture(out->name)) return no_object(gl, label, "texture", out->name);
    t->glGetTextureParameteriv(out->name, CULVI_GL_TEXTURE_TARGET, &is);
    culvi_gl_drop_errors(&gl->table); /* Mesa tells the target in core profiles only */
    CULVI_REFUSE_IF(is != 0 && (uint32_t)is != out->target, gl->voice, label, CULV_REASON_VALUE,
                    "texture %" PRIu32 " is a %s, not a %s; pass the target that it has", out->name,
                    target_name((uint32_t)is), target_name(out->target));
    t->glGetTextureParameteriv(out->name, CULVI_GL_TEXTURE_IMMUTABLE_FORMAT, &immutable);
    out->immutable = immutable != 0;
    look_at_level(gl, out, 0);
    culvi_gl_drop_errors(&gl->table);
    CULVI_UNSUPPORTED_IF(
        out->width > 0 && has_handle(gl, out->name), gl->voice, label, CULV_REASON_USAGE,
        "texture %" PRIu32
        " has a bindless handle already; register it first, then ask for the handle (glGetTextureHandleARB)",
        out->name);
    if (out->width > 0) out->levels = count_levels(gl, out);
    culvi_gl_drop_errors(&gl->table);
    return CULV_OK;
}

static culv_result look_at_image(const culv_gl *gl, const char *label, uint32_t name,
                                 uint32_t target, culvi_gl_object_info *out)
{
    *out = (culvi_gl_object_info){.name = name, .target = target};
    culv_result result = check_target(gl, label, target);
    if (result == CULV_OK)
        result = target == CULVI_GL_RENDERBUFFER ? look_at_renderbuffer(gl, label, out)
                                                 : look_at_texture(gl, label, out);
    culvi_gl_drop_errors(&gl->table);
    if (result != CULV_OK) return result;
    if (out->samples > 0)
        return refuse(
            gl, label, "multisampled renderbuffer",
            "resolve and read it by culv_gl_readback_create(), or resolve it into one of one sample (glBlitNamedFramebuffer) and register that");
    if (out->width <= 0 || out->height <= 0)
        return no_storage(
            gl, label, target == CULVI_GL_RENDERBUFFER ? "renderbuffer" : "texture", name,
            target == CULVI_GL_RENDERBUFFER ? "glNamedRenderbufferStorage" : "glTextureStorage2D");
    return CULV_OK;
}

/* Formats -------------------------------------------------------------------------------------- */

/* Formats that CUDA registers and that no number of Vulkan is: what their texels are. */
static uint32_t plain_format(uint32_t internal)
{
    static const struct {
        uint16_t plain, formats[7];
    } rows[] = {
        /* GL_R8: GL_RED, GL_LUMINANCE, GL_ALPHA, GL_INTENSITY, and the same with 8 bits */
        {0x8229, {0x1903, 0x1909, 0x1906, 0x8049, 0x8040, 0x803c, 0x804b}},
        {0x822a, {0x8042, 0x803e, 0x804d}}, /* GL_R16 */
        {0x822d, {0x881c, 0x881d, 0x881e}}, /* GL_R16F */
        {0x822e, {0x8816, 0x8817, 0x8818}}, /* GL_R32F */
        {0x822b, {0x8227, 0x190a, 0x8045}}, /* GL_RG8: GL_RG, GL_LUMINANCE_ALPHA */
        {0x822c, {0x8048}},                 /* GL_RG16 */
        {0x822f, {0x881f}},                 /* GL_RG16F */
        {0x8230, {0x8819}},                 /* GL_RG32F */
        {0x8058, {0x1908}},                 /* GL_RGBA8: GL_RGBA */
    };
    for (size_t i = 0; internal != 0 && i < sizeof rows / sizeof rows[0]; i++)
        for (size_t k = 0; k < sizeof rows[i].formats / sizeof rows[i].formats[0]; k++)
            if (rows[i].formats[k] == internal) return rows[i].plain;
    return internal;
}

/* R, RG, RGBA of 8, 16 and 32 bits without SNORM and sRGB. */
static bool registers(uint32_t internal)
{
    return (internal >= 0x8229 && internal <= 0x823c) || internal == 0x8058 || internal == 0x805b ||
           internal == 0x881a || internal == 0x8814 || internal == 0x8d7c || internal == 0x8d76 ||
           internal == 0x8d70 || internal == 0x8d8e || internal == 0x8d88 || internal == 0x8d82;
}

static const char *way_round(uint32_t internal, culv_format format)
{
    switch (internal) {
    case 0x8c43: return "register a GL_RGBA8 texture, and draw with a view of it (glTextureView)";
    case 0x8051: /* GL_RGB8, GL_RGB16, GL_RGB16F, GL_RGB32F, GL_RGB */
    case 0x8054:
    case 0x881b:
    case 0x8815:
    case 0x1907: return "use four channels instead of three";
    case 0x8059: /* GL_RGB10_A2, GL_RGB10_A2UI, GL_R11F_G11F_B10F, GL_RGB9_E5 */
    case 0x906f:
    case 0x8c3a:
    case 0x8c3d:
        return "register a GL_R32UI texture, and draw with a view of it (glTextureView); or make the texture by culv_gl_image_create()";
    default: break;
    }
    if ((internal >= 0x81a5 && internal <= 0x81a7) || internal == 0x8cac || internal == 0x88f0 ||
        internal == 0x8cad || internal == 0x1902 || internal == 0x84f9 || internal == 0x8d48)
        return "read depth and stencil by culv_gl_readback_create(), or make the texture by culv_gl_image_create()";
    const culvi_format *row = culvi_format_find((uint32_t)format);
    if (row != NULL && row->block_width > 1)
        return "make the texture by culv_gl_image_create(), or copy blocks through a registered buffer that is bound to GL_PIXEL_UNPACK_BUFFER";
    return "use GL_R, GL_RG or GL_RGBA with 8, 16 or 32 bits, draw with a view of such a texture (glTextureView), or copy through a registered buffer (GL_PIXEL_PACK_BUFFER)";
}

static culv_result describe_image(const culv_gl *gl, const char *label,
                                  const culvi_gl_object_info *object, culv_image_desc *out)
{
    const uint32_t internal = plain_format((uint32_t)object->internal_format);
    const culv_format format = culvi_format_from(CULV_NATIVE_GL, internal);
    const culvi_format *row = culvi_format_find((uint32_t)format);
    CULVI_UNSUPPORTED_IF(!registers(internal) || row == NULL || !row->mapped, gl->voice, label,
                         CULV_REASON_FORMAT,
                         "CUDA registers no image of the internal format %#x%s%s%s; %s",
                         (unsigned)object->internal_format, format != CULV_FORMAT_NONE ? " (" : "",
                         format != CULV_FORMAT_NONE ? row->name : "",
                         format != CULV_FORMAT_NONE ? ")" : "", way_round(internal, format));
    out->format = format;
    out->type = object->target == CULVI_GL_TEXTURE_3D         ? CULV_IMAGE_3D
                : object->target == CULVI_GL_TEXTURE_CUBE_MAP ? CULV_IMAGE_CUBE
                                                              : CULV_IMAGE_2D;
    out->width = (uint32_t)object->width;
    out->height = (uint32_t)object->height;
    out->depth = out->type == CULV_IMAGE_3D ? (uint32_t)object->depth : 1;
    out->array_layers = out->type == CULV_IMAGE_CUBE                  ? 6
                        : object->target == CULVI_GL_TEXTURE_2D_ARRAY ? (uint32_t)object->depth
                                                                      : 1;
    out->mip_levels = object->levels;
    return CULV_OK;
}

/* Before each map ------------------------------------------------------------------------------ */

static culv_result changed(const culv_gl *gl, const char *label, const char *call,
                           const culvi_gl_object_info *object, const char *how)
{
    return culvi_fail(
        gl->voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "%s(): the %s %" PRIu32
        " %s since it was registered; culv_registration_destroy() it, and register what there is now",
        call, object->target == 0 ? "buffer" : "image", object->name, how);
}

/* One call of OpenGL where it can be, because a map is called for each frame. */
static culv_result look_again(const culv_gl *gl, const char *label, const char *call,
                              const culvi_gl_object_info *object)
{
    const culvi_gl_table *t = &gl->table;
    culvi_gl_object_info now = {.name = object->name, .target = object->target};
    if (object->target == 0) {
        /* One call for each, and none for errors: a map of many buffers costs little more. */
        int64_t size = 0;
        t->glGetNamedBufferParameteri64v(object->name, CULVI_GL_BUFFER_SIZE, &size);
        if ((uint64_t)size == object->size) return CULV_OK;
        culvi_gl_drop_errors(&gl->table); /* of a name that is no buffer any more */
        return changed(gl, label, call, object,
                       t->glIsBuffer(object->name) ? "was resized" : "was deleted");
    }
    const bool renderbuffer = object->target == CULVI_GL_RENDERBUFFER;
    if (!(renderbuffer ? t->glIsRenderbuffer(object->name) : t->glIsTexture(object->name)))
        return changed(gl, label, call, object, "was deleted");
    /* Storage that cannot change can be deleted, and its name given to another object. */
    if (renderbuffer)
        (void)look_at_renderbuffer(gl, label, &now);
    else
        look_at_level(gl, &now, 0);
    culvi_gl_drop_errors(&gl->table);
    return now.width == object->width && now.height == object->height &&
                   now.depth == object->depth && now.internal_format == object->internal_format &&
                   now.samples == object->samples
               ? CULV_OK
               : changed(gl, label, call, object, "was given another size or format");
}

static culv_result check_turn(culv_registration *const *list, uint32_t count, bool asks, bool map,
                              const char *call)
{
    const culv_gl *gl = list[0]->attachment;
    if (asks || atomic_load(&gl->lost))
        CULVI_TRY(culvi_gl_enter_frame(gl, list[0]->memory.label, call));
    for (uint32_t i = 0; map && i < count; i++) {
        const culvi_gl_registration *r = culvi_gl_registration_of(list[i]);
        if (!r->asks_object) continue;
        /* A look at an image asks so that errors come of it: an earlier one is taken before. */
        if (r->object.target != 0) culvi_gl_take_error(gl, call);
        CULVI_TRY(look_again(gl, r->base.memory.label, call, &r->object));
    }
    return CULV_OK;
}

/* Registering ---------------------------------------------------------------------------------- */

static const char *explain(CUresult code)
{
    switch ((int)code) {
    case CUDA_ERROR_INVALID_GRAPHICS_CONTEXT:
    case CUDA_ERROR_OPERATING_SYSTEM:
    case CUDA_ERROR_UNKNOWN:
        return "the CUDA driver finds no OpenGL context of its own GPU on this thread, although one is current: it is another driver's (Mesa's, a remote desktop's), or another GPU's. culv_gl_check_context() says what to set";
    case CUDA_ERROR_INVALID_DEVICE:
        return "the context is another GPU's; culv_gl_check_context() names both";
    case CUDA_ERROR_INVALID_VALUE: return "the driver takes no object of this kind, size or format";
    case CUDA_ERROR_INVALID_HANDLE:
        return "the driver does not know the object: it must be there, with storage, in the context that is current on this thread";
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
    CULVI_TRY(culvi_gl_enter_to_destroy(gl, r->memory.label, call));
    CULVI_TRY(culvi_registration_release(r, lost));
    culvi_gl_registration *mine = culvi_gl_registration_of(r);
    if (mine->readback != NULL) culvi_gl_readback_end(mine->readback);
    culvi_free(mine);
    culvi_graphics_unref(&gl->base);
    return CULV_OK;
}

static const culvi_registrar registrar = {
    .words = &culvi_gl_words, .explain = explain, .check = check_turn, .destroy = destroy};

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
    *d = culv_gl_register_desc_init();
    CULVI_TRY(culvi_desc_read(gl->voice, d, sizeof *d, desc, "culv_gl_register_desc"));
    CULVI_TRY(culvi_check_access(gl->voice, d->label, "culv_gl_register_desc.access", d->access));
    CULVI_REFUSE_IF(
        gl->base.foreign, gl->voice, d->label, CULV_REASON_DEVICE_MISMATCH,
        "%s(): the context is of '%s', and CUDA registers objects of its own device '%s' alone; make them by culv_gl_buffer_create() or culv_gl_image_create() with a fallback, which copies",
        call, gl->base.name, gl->base.device->caps.name);
    const culvi_cuda *cuda = gl->base.device->cuda;
    CULVI_UNSUPPORTED_IF(
        cuda->cuGraphicsGLRegisterBuffer == NULL || cuda->cuGraphicsGLRegisterImage == NULL ||
            cuda->cuGraphicsMapResources == NULL,
        gl->voice, d->label, CULV_REASON_DRIVER_TOO_OLD,
        "%s(): the CUDA driver has no cuGraphicsGLRegisterBuffer: it registers no objects of OpenGL on this system",
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
    CULVI_NEW(culvi_gl_registration, made, gl->voice, d->label);
    made->object = *object;
    made->asks_object = d->unchecked == 0;
    plan->registrar = &registrar;
    plan->attachment = gl;
    plan->label = d->label;
    plan->unchecked = d->unchecked != 0;
    plan->what = &made->object;
    CULVI_TRY_OR(culvi_registration_make(gl->base.device, plan, &made->base), culvi_free(made));
    culvi_graphics_ref(&gl->base);
    *out = &made->base;
    return CULV_OK;
}

culv_result culv_gl_register_buffer(culv_gl *gl, uint32_t buffer, const culv_gl_register_desc *desc,
                                    culv_registration **out)
{
    culv_gl_register_desc d;
    culvi_gl_object_info object;
    CULVI_REQUIRE_WITH(gl, gl->voice, out);
    CULVI_TRY(begin(gl, desc, &d, "culv_gl_register_buffer"));
    CULVI_TRY(look_at_buffer(gl, d.label, buffer, &object));
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
    CULVI_REQUIRE_WITH(gl, gl->voice, out);
    CULVI_TRY(begin(gl, desc, &d, "culv_gl_register_image"));
    CULVI_TRY(look_at_image(gl, d.label, name, target, &object));
    CULVI_TRY(describe_image(gl, d.label, &object, &image));
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
    CULVI_TRY(destroy(*registration, call));
    *registration = NULL;
    return CULV_OK;
}
