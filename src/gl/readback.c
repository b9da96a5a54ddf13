/* SPDX-License-Identifier: MIT */
/* Readbacks: framebuffers of depth or of several samples, read into a registered pixel
 * buffer object. Such images themselves CUDA does not register. */
#include "gl/gl_register.h"

enum { SCRATCH = 2 }; /* resolved; upside down */
enum { MOST = 32768 };
enum { DEPTH = 0x100 }; /* GL_DEPTH_BUFFER_BIT */

typedef struct culvi_gl_readback {
    culv_gl *gl;
    uint32_t buffer;
    uint32_t unturned; /* a buffer of depth that is not upside down yet; 0: not needed yet */
    uint32_t renderbuffers[SCRATCH]; /* 0: not needed yet */
    /* While it is read: a framebuffer is of one context, in others its name is the program's. */
    uint32_t framebuffers[SCRATCH];
    int32_t width, height;
    uint32_t internal_format;
    int format; /* the row below */
    bool flip;
    char label[64];
} culvi_gl_readback;

static const struct {
    uint32_t internal_format, attachment, mask, pixels, type, bytes;
} formats[] = {
    {0x8cac, 0x8d00, 0x100, 0x1902, 0x1406, 4},         /* GL_DEPTH_COMPONENT32F */
    {0x88f0, 0x821a, 0x100 | 0x400, 0x84f9, 0x84fa, 4}, /* GL_DEPTH24_STENCIL8 */
    {0x8058, 0x8ce0, 0x4000, 0x1908, 0x1401, 4},        /* GL_RGBA8 */
    {0x881a, 0x8ce0, 0x4000, 0x1908, 0x140b, 8},        /* GL_RGBA16F */
    {0x8814, 0x8ce0, 0x4000, 0x1908, 0x1406, 16},       /* GL_RGBA32F */
};

void culvi_gl_readback_end(culvi_gl_readback *r)
{
    const culvi_gl_table *t = &r->gl->table;
    const bool lost = atomic_load(&r->gl->lost);
    if (!lost) t->glDeleteRenderbuffers(SCRATCH, r->renderbuffers);
    if (!lost && r->unturned != 0) t->glDeleteBuffers(1, &r->unturned);
    if (!lost && r->buffer != 0) t->glDeleteBuffers(1, &r->buffer);
    culvi_free(r);
}

static culv_result make_buffer(const culvi_gl_readback *r, ptrdiff_t size, uint32_t *out)
{
    const culvi_gl_table *t = &r->gl->table;
    uint32_t made = 0;
    t->glCreateBuffers(1, &made);
    t->glNamedBufferStorage(made, size, NULL, 0);
    CULVI_TRY_OR(culvi_gl_check(r->gl, r->label, "glNamedBufferStorage",
                                "a pixel buffer of %td bytes could not be made", size),
                 t->glDeleteBuffers(1, &made));
    *out = made;
    return CULV_OK;
}

static culv_result check_desc(const culvi_voice *voice, const culv_gl_readback_desc *d)
{
    CULVI_REFUSE_IF(d->width == 0 || d->height == 0 || d->width > MOST || d->height > MOST, voice,
                    d->label, CULV_REASON_EXTENT,
                    "culv_gl_readback_desc: %" PRIu32 " x %" PRIu32 " pixels; each is from 1 to %d",
                    d->width, d->height, (int)MOST);
    CULVI_REFUSE_IF((uint32_t)d->format >= sizeof formats / sizeof formats[0], voice, d->label,
                    CULV_REASON_VALUE,
                    "culv_gl_readback_desc.format is %d, which is no culv_gl_readback_format",
                    (int)d->format);
    return CULV_OK;
}

culv_result culv_gl_readback_create(culv_gl *gl, const culv_gl_readback_desc *desc,
                                    culv_registration **out)
{
    culv_gl_register_desc how = culv_gl_register_desc_init();
    CULVI_REQUIRE_WITH2(gl, gl->voice, desc, out);
    CULVI_READ(gl->voice, culv_gl_readback_desc, d, desc);
    CULVI_TRY(check_desc(gl->voice, &d));
    CULVI_TRY(culvi_gl_enter(gl, d.label, "culv_gl_readback_create"));
    CULVI_NEW(culvi_gl_readback, r, gl->voice, d.label);
    r->gl = gl;
    r->width = (int32_t)d.width;
    r->height = (int32_t)d.height;
    r->format = (int)d.format;
    r->internal_format =
        d.internal_format != 0 ? d.internal_format : formats[r->format].internal_format;
    r->flip = d.flip != 0;
    culvi_label_set(r->label, d.label);
    const ptrdiff_t size = (ptrdiff_t)d.width * (ptrdiff_t)d.height * formats[r->format].bytes;
    CULVI_TRY_OR(make_buffer(r, size, &r->buffer), culvi_gl_readback_end(r));
    how.access = CULV_ACCESS_READ_ONLY;
    how.label = r->label;
    CULVI_TRY_OR(culv_gl_register_buffer(gl, r->buffer, &how, out), culvi_gl_readback_end(r));
    culvi_gl_registration_of(*out)->readback = r;
    return CULV_OK;
}

/* A framebuffer of one sample; its renderbuffer is made when it is first needed. */
static culv_result need_scratch(culvi_gl_readback *r, int i)
{
    const culvi_gl_table *t = &r->gl->table;
    uint32_t *renderbuffer = &r->renderbuffers[i];
    if (*renderbuffer == 0) {
        t->glCreateRenderbuffers(1, renderbuffer);
        t->glNamedRenderbufferStorage(*renderbuffer, r->internal_format, r->width, r->height);
    }
    t->glCreateFramebuffers(1, &r->framebuffers[i]);
    t->glNamedFramebufferRenderbuffer(r->framebuffers[i], formats[r->format].attachment,
                                      CULVI_GL_RENDERBUFFER, *renderbuffer);
    CULVI_TRY_OR(culvi_gl_check(r->gl, r->label, "glNamedFramebufferRenderbuffer",
                                "a framebuffer of the internal format %#" PRIx32
                                " could not be made",
                                r->internal_format),
                 (t->glDeleteRenderbuffers(1, renderbuffer), *renderbuffer = 0));
    return CULV_OK;
}

/* Pixels outside of a framebuffer are undefined, without an error. OpenGL does not tell how large
 * the default framebuffer is. */
static culv_result check_extent(const culvi_gl_readback *r, uint32_t framebuffer, int32_t x,
                                int32_t y)
{
    enum { READ_BUFFER = 0x0c02, OBJECT_TYPE = 0x8cd0, OBJECT_NAME, TEXTURE_LEVEL };
    enum { TEXTURE = 0x1702, COLOR = 0x4000, DEPTH_ATTACHMENT = 0x8d00 };
    const culvi_gl_table *t = &r->gl->table;
    int32_t from = 0, type = 0, name = 0, level = 0;
    int32_t width = 0, height = 0, bound = 0;
    if (framebuffer == 0 || t->glGetNamedFramebufferAttachmentParameteriv == NULL) return CULV_OK;
    if (formats[r->format].mask == COLOR) { /* Mesa tells it of the bound framebuffer alone */
        t->glGetIntegerv(CULVI_GL_READ_FRAMEBUFFER_BINDING, &bound);
        t->glBindFramebuffer(CULVI_GL_READ_FRAMEBUFFER, framebuffer);
        t->glGetIntegerv(READ_BUFFER, &from);
        t->glBindFramebuffer(CULVI_GL_READ_FRAMEBUFFER, (uint32_t)bound);
    } else
        from =
            DEPTH_ATTACHMENT; /* of GL_DEPTH_STENCIL_ATTACHMENT the two may be different objects */
    t->glGetNamedFramebufferAttachmentParameteriv(framebuffer, (uint32_t)from, OBJECT_TYPE, &type);
    t->glGetNamedFramebufferAttachmentParameteriv(framebuffer, (uint32_t)from, OBJECT_NAME, &name);
    if (type == CULVI_GL_RENDERBUFFER) {
        t->glGetNamedRenderbufferParameteriv((uint32_t)name, CULVI_GL_RENDERBUFFER_WIDTH, &width);
        t->glGetNamedRenderbufferParameteriv((uint32_t)name, CULVI_GL_RENDERBUFFER_HEIGHT, &height);
    } else if (type == TEXTURE) {
        t->glGetNamedFramebufferAttachmentParameteriv(framebuffer, (uint32_t)from, TEXTURE_LEVEL,
                                                      &level);
        t->glGetTextureLevelParameteriv((uint32_t)name, level, CULVI_GL_TEXTURE_WIDTH, &width);
        t->glGetTextureLevelParameteriv((uint32_t)name, level, CULVI_GL_TEXTURE_HEIGHT, &height);
    }
    culvi_gl_drop_errors(t);
    if (width == 0 || height == 0) return CULV_OK; /* OpenGL refuses the read, and says why */
    if (x >= 0 && y >= 0 && x <= width - r->width && y <= height - r->height) return CULV_OK;
    return culvi_fail(r->gl->voice, r->label, CULV_ERROR_INVALID, CULV_REASON_EXTENT,
                      "culv_gl_readback_read(): %" PRId32 " x %" PRId32 " pixels at (%" PRId32
                      ", %" PRId32 ") are not all in the framebuffer %" PRIu32
                      ", whose attachment has %" PRId32 " x %" PRId32
                      "; make a readback of its size when it changes",
                      r->width, r->height, x, y, framebuffer, width, height);
}

/* Blits into the i-th scratch framebuffer; *from and the place in it are those of the copy then. */
static culv_result blit(culvi_gl_readback *r, int i, bool flip, uint32_t *from, int32_t *x,
                        int32_t *y)
{
    const culvi_gl_table *t = &r->gl->table;
    CULVI_TRY(need_scratch(r, i));
    const unsigned char scissor = t->glIsEnabled(CULVI_GL_SCISSOR_TEST);
    if (scissor) t->glDisable(CULVI_GL_SCISSOR_TEST);
    t->glBlitNamedFramebuffer(*from, r->framebuffers[i], *x, *y, *x + r->width, *y + r->height, 0,
                              flip ? r->height : 0, r->width, flip ? 0 : r->height,
                              formats[r->format].mask, CULVI_GL_NEAREST);
    if (scissor) t->glEnable(CULVI_GL_SCISSOR_TEST);
    *from = r->framebuffers[i];
    *x = *y = 0;
    return culvi_gl_check_error(
        r->gl, r->label, "glBlitNamedFramebuffer", CULV_REASON_FORMAT,
        "the framebuffer could not be copied; is its attachment of the internal format %#" PRIx32
        " (culv_gl_readback_desc.internal_format)?",
        r->internal_format);
}

static culv_result read_pixels(const culvi_gl_readback *r, uint32_t from, int32_t x, int32_t y,
                               uint32_t to)
{
    const culvi_gl_table *t = &r->gl->table;
    int32_t framebuffer = 0;
    const culvi_gl_pixel_store was = culvi_gl_set_tight(t, true, to);
    t->glGetIntegerv(CULVI_GL_READ_FRAMEBUFFER_BINDING, &framebuffer);
    t->glBindFramebuffer(CULVI_GL_READ_FRAMEBUFFER, from);
    t->glReadPixels(x, y, r->width, r->height, formats[r->format].pixels, formats[r->format].type,
                    NULL);
    culv_result result = culvi_gl_check_error(
        r->gl, r->label, "glReadPixels", CULV_REASON_FORMAT,
        "the framebuffer %" PRIu32 " could not be read; has it an attachment of this kind?", from);
    t->glBindFramebuffer(CULVI_GL_READ_FRAMEBUFFER, (uint32_t)framebuffer);
    culvi_gl_restore(t, true, &was);
    return result;
}

/* A readback that turned depth by a blit did not come back with NVIDIA's 580, so the rows are
 * copied one by one. */
static culv_result read_turned(culvi_gl_readback *r, uint32_t from, int32_t x, int32_t y)
{
    const culvi_gl_table *t = &r->gl->table;
    const ptrdiff_t row = (ptrdiff_t)r->width * (ptrdiff_t)formats[r->format].bytes;
    if (r->unturned == 0) CULVI_TRY(make_buffer(r, row * r->height, &r->unturned));
    CULVI_TRY(read_pixels(r, from, x, y, r->unturned));
    for (ptrdiff_t i = 0; i < r->height; i++)
        t->glCopyNamedBufferSubData(r->unturned, r->buffer, i * row, (r->height - 1 - i) * row,
                                    row);
    return culvi_gl_check(r->gl, r->label, "glCopyNamedBufferSubData", "rows could not be copied");
}

static culv_result copy(culvi_gl_readback *r, bool resolve, uint32_t from, int32_t x, int32_t y)
{
    /* A resolve cannot turn the image upside down at the same time. */
    if (resolve) CULVI_TRY(blit(r, 0, false, &from, &x, &y));
    if (r->flip && (formats[r->format].mask & DEPTH)) return read_turned(r, from, x, y);
    if (r->flip) CULVI_TRY(blit(r, 1, true, &from, &x, &y));
    return read_pixels(r, from, x, y, r->buffer);
}

culv_result culv_gl_readback_read(culv_registration *readback, uint32_t framebuffer, int32_t x,
                                  int32_t y)
{
    CULVI_REQUIRE(NULL, readback);
    int32_t samples = 0;
    culvi_gl_readback *r = culvi_gl_readback_of(readback);
    CULVI_REFUSE_IF(
        r == NULL, &readback->device->voice, readback->memory.label, CULV_REASON_VALUE,
        "culv_gl_readback_read(): it is no readback; culv_gl_readback_create() makes one");
    culv_gl *gl = r->gl;
    CULVI_TRY(culvi_gl_enter(gl, r->label, "culv_gl_readback_read"));
    CULVI_REFUSE_IF(readback->mapped, gl->voice, r->label, CULV_REASON_MAPPED,
                    "culv_gl_readback_read(): CUDA has the buffer now; unmap it first");
    gl->table.glGetNamedFramebufferParameteriv(framebuffer, CULVI_GL_SAMPLES, &samples);
    CULVI_TRY(culvi_gl_check_error(gl, r->label, "glGetNamedFramebufferParameteriv",
                                   CULV_REASON_VALUE,
                                   "%" PRIu32 " is no framebuffer of this context", framebuffer));
    CULVI_TRY(check_extent(r, framebuffer, x, y));
    const culv_result result = copy(r, samples > 0, framebuffer, x, y);
    gl->table.glDeleteFramebuffers(SCRATCH, r->framebuffers);
    memset(r->framebuffers, 0, sizeof r->framebuffers);
    return result;
}
