/* SPDX-License-Identifier: MIT */
/* Registered buffers and images of OpenGL: data both ways, what is refused, and when. */
#define TEST_GROUP "register."
#include "core/registration.h"
#include "gl/gl_core.h"
#include "library.h"
#include "raw_cuda_image.h"
#include "raw_gl.h"

#include <culvert/gl.h>

typedef struct stage {
    raw_gl gl;
    lib_world w; /* its device; no Vulkan */
    culv_gl *attached;
    CUstream stream;
} stage;

#define REGISTER_CASE(name, ...)                                                                   \
    TEST_ON_(stage, s, stage_open(s, TEST_FIRST(__VA_ARGS__)), stage_close(s), name,               \
             TEST_REST(__VA_ARGS__))
/* By a loader of the case's own. */
#define LOADER_CASE(get_proc, ...)                                                                 \
    TEST_ON(stage, s, stage_open_with(s, RAW_GL_CORE, get_proc), stage_close(s), __VA_ARGS__)

static void stage_open_with(stage *s, int profile, culv_gl_get_proc get_proc)
{
    memset(s, 0, sizeof *s);
    s->w.cu = lib_driver();
    raw_gl_open(&s->gl, s->w.cu->software, 0, profile);
    culv_gl_desc desc = culv_gl_desc_init();
    desc.get_proc_address = get_proc;
    LIB_OK(culv_device_open_for_gl(&desc, NULL, &s->w.device));
    s->w.context = culv_device_context(s->w.device);
    LIB_OK(culv_gl_attach(s->w.device, &desc, &s->attached));
    s->stream = lib_stream(&s->w);
}

static void stage_open(stage *s, int profile)
{
    stage_open_with(s, profile, raw_gl_get_proc);
}

static void stage_close(stage *s)
{
    const raw_cuda *cu = s->w.cu;
    lib_finish(&s->w, s->stream);
    lib_stream_destroy(&s->w, s->stream);
    const culv_device_counts counts = lib_counts(&s->w);
    REQUIRE_EQ(counts.registrations, 0);
    REQUIRE_EQ(counts.attached_devices, 1);
    culv_gl_detach(&s->attached);
    culv_device_close(&s->w.device);
    raw_cuda_require_empty(cu);
    raw_gl_close(&s->gl);
}

static culv_registration *stage_register(const stage *s, GLuint buffer, culv_access access)
{
    culv_gl_register_desc d = culv_gl_register_desc_init();
    d.access = access;
    d.label = "vertices";
    NEW(culv_registration, r, culv_gl_register_buffer, s->attached, buffer, &d);
    return r;
}

static GLuint stage_buffer(const stage *s, size_t size, uint32_t seed)
{
    GLuint buffer = 0;
    LIB_BLOCK(uint32_t, words, size);
    lib_fill(words, size / 4, seed);
    s->gl.CreateBuffers(1, &buffer);
    GL_OK(&s->gl, s->gl.NamedBufferData(buffer, (GLsizeiptr)size, words, GL_DYNAMIC_DRAW));
    return buffer;
}

/* Words of a buffer by lib_word(); read through OpenGL. */
static void stage_require_words(const stage *s, GLuint buffer, size_t size, uint32_t seed)
{
    LIB_BLOCK(uint32_t, words, size);
    raw_gl_read_buffer(&s->gl, buffer, words, size);
    REQUIRE_WORDS(words, size / 4, seed);
}

/* What a frame without work does. */
static void stage_turn(const stage *s, culv_registration *const *list, uint32_t count)
{
    LIB_OK(culv_registration_map(list, count, s->stream));
    LIB_OK(culv_registration_unmap(list, count, s->stream));
}

static void move_box(const raw_cuda *cu, CUarray array, void *texels, size_t row, size_t height,
                     size_t slices, bool write)
{
    CU_OK(write ? raw_cuda_write_box(cu, array, texels, row, height, slices)
                : raw_cuda_read_box(cu, array, texels, row, height, slices));
}

/* All texels of a level of a mapped image, by Culvert's array of the level or those of its
 * layers. */
static void stage_move_level(const stage *s, culv_registration *r, const raw_gl_image *image,
                             int level, uint8_t *texels, bool write, bool layers)
{
    const raw_cuda *cu = s->w.cu;
    int width, height, depth;
    raw_gl_level_size(image->kind, level, &width, &height, &depth);
    const int parts = layers && image->kind->layered ? depth : 1;
    const size_t row = (size_t)width * image->format->bytes;
    const size_t slices = (size_t)(depth / parts);
    CUcontext before = lib_enter(&s->w);
    /* OpenGL's work is done before what follows the map on its stream; the boxes are copied on
     * another one. */
    CU_OK(cu->StreamSynchronize(s->stream));
    for (int i = 0; i < parts; i++) {
        CUarray array = NULL;
        CUDA_ARRAY3D_DESCRIPTOR all;
        uint8_t *part = texels + row * (size_t)height * slices * (size_t)i;
        size_t reached = slices;
        if (layers) {
            LIB_OK(culv_registration_get_array(r, (uint32_t)i, (uint32_t)level, &array));
        } else {
            LIB_OK(culv_image_get_array(culv_registration_image(r), (uint32_t)level, 0, &array));
            CU_OK(cu->Array3DGetDescriptor(&all, array));
            if (all.Depth == 0) reached = 1;
        }
        move_box(cu, array, part, row, (size_t)height, reached, write);
        /* Copies do not reach the other faces of a cube in the array of all of them. */
        for (size_t j = reached; j < slices; j++) {
            LIB_OK(culv_registration_get_array(r, (uint32_t)j, (uint32_t)level, &array));
            move_box(cu, array, part + row * (size_t)height * j, row, (size_t)height, 1, write);
        }
    }
    CU_OK(cu->CtxSynchronize());
    lib_leave(&s->w, before);
}

/* Data ----------------------------------------------------------------------------------------- */

/* CUDA has it until the unmap, and a tensor would keep it. */
static void refuse_tensor(const stage *s, culv_buffer *cuda)
{
    culv_dl_managed_tensor_versioned *tensor;
    LIB_REFUSES(tensor, culv_buffer_get_dlpack(cuda, NULL, &tensor), INVALID, OWNED, "registered",
                "OpenGL", "culv_buffer_pointer()"); /* what to do */
    REQUIRE_EQ(lib_counts(&s->w).buffers, 0);
}

REGISTER_CASE(buffers, RAW_GL_CORE, .smoke = true)
{
    enum { SIZE = 40000 };
    const raw_cuda *cu = s->w.cu;
    LIB_BLOCK(uint32_t, words, SIZE);
    const GLuint buffer = stage_buffer(s, SIZE, 1);
    culv_registration *r = stage_register(s, buffer, CULV_ACCESS_READ_WRITE);
    REQUIRE_EQ(lib_counts(&s->w).registrations, 1);
    culv_buffer *cuda = culv_registration_buffer(r);
    REQUIRE(culv_registration_image(r) == NULL);
    REQUIRE_EQ(culv_buffer_size(cuda), SIZE);
    REQUIRE_EQ(culv_buffer_pointer(cuda), 0);
    for (uint32_t turn = 0; turn < 3; turn++) {
        refuse_tensor(s, cuda);
        LIB_OK(culv_registration_map(&r, 1, s->stream));
        REQUIRE(culv_registration_is_mapped(r));
        refuse_tensor(s, cuda);
        const CUdeviceptr pointer = culv_registration_pointer(r);
        REQUIRE(pointer != 0);
        REQUIRE_EQ(culv_buffer_pointer(cuda), pointer);
        LIB_CU_OK(&s->w, cu->MemcpyDtoHAsync(words, pointer, SIZE, s->stream));
        lib_finish(&s->w, s->stream);
        REQUIRE_WORDS(words, SIZE / 4, turn + 1);
        lib_fill(words, SIZE / 4, turn + 2);
        LIB_CU_OK(&s->w, cu->MemcpyHtoDAsync(pointer, words, SIZE, s->stream));
        LIB_OK(culv_registration_unmap(&r, 1, s->stream));
        REQUIRE_EQ(culv_buffer_pointer(cuda), 0);
        stage_require_words(s, buffer, SIZE, turn + 2);
    }
    LIB_OK(culv_registration_destroy(&r));
    REQUIRE(r == NULL);
    /* What is to be discarded, and what is only read. */
    r = stage_register(s, buffer, CULV_ACCESS_WRITE_DISCARD);
    LIB_OK(culv_registration_map(&r, 1, s->stream));
    lib_fill(words, SIZE / 4, 9);
    LIB_CU_OK(&s->w, cu->MemcpyHtoDAsync(culv_registration_pointer(r), words, SIZE, s->stream));
    LIB_OK(culv_registration_unmap(&r, 1, s->stream));
    stage_require_words(s, buffer, SIZE, 9);
    LIB_OK(culv_registration_destroy(&r));
    s->gl.DeleteBuffers(1, &buffer);
}

static void require_texels(const raw_gl_image *image, int level, const char *way, int turn,
                           const uint8_t *found, const uint8_t *expected)
{
    const size_t bytes = raw_gl_level_bytes(image, level);
    size_t wrong = 0, first = 0;
    for (size_t i = bytes; i-- > 0;)
        if (found[i] != expected[i]) {
            wrong++;
            first = i;
        }
    if (wrong != 0)
        FAIL("%s, %s, level %d, %s, turn %d: %zu of %zu bytes wrong, first at %zu: 0x%02x, not "
             "0x%02x",
             image->kind->name, image->format->name, level, way, turn, wrong, bytes, first,
             found[first], expected[first]);
}

static void image_both_ways(const stage *s, const raw_gl_kind *kind, const raw_gl_format *format)
{
    raw_gl_image image;
    uint8_t *texels[8], *found;
    REQUIRE(raw_gl_image_make(&s->gl, kind, format, &image));
    found = malloc(raw_gl_level_bytes(&image, 0));
    for (int i = 0; i < kind->levels; i++) {
        texels[i] = malloc(raw_gl_level_bytes(&image, i));
        raw_gl_fill(format, texels[i], raw_gl_level_bytes(&image, i), 30u + (unsigned)i);
        raw_gl_image_write(&s->gl, &image, i, texels[i]);
    }
    NEW(culv_registration, r, culv_gl_register_image, s->attached, image.name, kind->target, NULL);
    culv_image *cuda = culv_registration_image(r);
    culv_image_desc desc = culv_image_desc_init();
    LIB_OK(culv_image_get_desc(cuda, &desc));
    REQUIRE_EQ(desc.width, kind->width);
    REQUIRE_EQ(desc.height, kind->height);
    REQUIRE_EQ(desc.mip_levels, kind->levels);
    REQUIRE_EQ(desc.depth * desc.array_layers, kind->depth);
    for (int turn = 0; turn < 2; turn++) {
        LIB_OK(culv_registration_map(&r, 1, s->stream));
        for (int i = 0; i < kind->levels; i++) {
            const size_t bytes = raw_gl_level_bytes(&image, i);
            memset(found, 0, bytes);
            stage_move_level(s, r, &image, i, found, false, turn == 0);
            require_texels(&image, i, "from OpenGL to CUDA", turn, found, texels[i]);
            raw_gl_fill(format, texels[i], bytes, 40u + (unsigned)(turn * 8 + i));
            stage_move_level(s, r, &image, i, texels[i], true, turn == 1);
        }
        LIB_OK(culv_registration_unmap(&r, 1, s->stream));
        for (int i = 0; i < kind->levels; i++) {
            const size_t bytes = raw_gl_level_bytes(&image, i);
            memset(found, 0, bytes);
            raw_gl_image_read(&s->gl, &image, i, found);
            require_texels(&image, i, "from CUDA to OpenGL", turn, found, texels[i]);
        }
    }
    LIB_OK(culv_registration_destroy(&r));
    raw_gl_require_ok(&s->gl, format->name, __FILE__, __LINE__);
    for (int i = 0; i < kind->levels; i++)
        free(texels[i]);
    free(found);
    raw_gl_image_delete(&s->gl, &image);
}

REGISTER_CASE(formats, RAW_GL_CORE)
{
    for (const raw_gl_kind *kind = raw_gl_kinds; kind->name != NULL; kind++)
        for (const raw_gl_format *format = raw_gl_formats; format->name != NULL; format++)
            if (!format->compatibility) image_both_ways(s, kind, format);
}

REGISTER_CASE(compatibility_formats, RAW_GL_COMPATIBILITY)
{
    for (const raw_gl_format *format = raw_gl_formats; format->name != NULL; format++)
        if (format->compatibility) image_both_ways(s, &raw_gl_kinds[0], format);
    image_both_ways(s, &raw_gl_kinds[2], raw_gl_format_named("GL_RGBA8"));
}

/* Also of more than are mapped without an allocation. */
REGISTER_CASE(many, RAW_GL_CORE)
{
    enum { COUNT = 200, SIZE = 256 };
    static const uint32_t counts[] = {1, 8, 64, 65, COUNT};
    GLuint names[COUNT];
    culv_registration *r[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        names[i] = stage_buffer(s, SIZE, 1);
        r[i] = stage_register(s, names[i], CULV_ACCESS_READ_WRITE);
    }
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        LIB_OK(culv_registration_map(r, counts[c], s->stream));
        CUcontext before = lib_enter(&s->w);
        for (uint32_t i = 0; i < counts[c]; i++)
            CU_OK(s->w.cu->MemsetD32Async(culv_registration_pointer(r[i]), 100 * i + counts[c],
                                          SIZE / 4, s->stream));
        lib_leave(&s->w, before);
        LIB_OK(culv_registration_unmap(r, counts[c], s->stream));
        for (uint32_t i = 0; i < counts[c]; i++) {
            uint32_t found[SIZE / 4];
            raw_gl_read_buffer(&s->gl, names[i], found, SIZE);
            for (uint32_t k = 0; k < SIZE / 4; k++)
                REQUIRE_EQ(found[k], 100 * i + counts[c]);
        }
    }
    LIB_OK(culv_registration_map(r, 0, s->stream));
    for (uint32_t i = 0; i < COUNT; i++)
        LIB_OK(culv_registration_destroy(&r[i]));
    s->gl.DeleteBuffers(COUNT, names);
}

/* Surfaces and textures end with the unmap, and are made anew, and a capture of another stream goes
 * on. */
REGISTER_CASE(views, RAW_GL_CORE, .smoke = true)
{
    CUstream captured = lib_stream(&s->w);
    CUgraph graph = NULL;
    raw_gl_image image;
    REQUIRE(raw_gl_image_make(&s->gl, &raw_gl_kinds[0], raw_gl_format_named("GL_RGBA8"), &image));
    NEW(culv_registration, r, culv_gl_register_image, s->attached, image.name, GL_TEXTURE_2D, NULL);
    culv_image *cuda = culv_registration_image(r);
    culv_texture_desc t = culv_texture_desc_init();
    CUsurfObject surface = 0;
    CUtexObject texture = 0;
    CUarray array = NULL;
    LIB_CU_OK(&s->w, s->w.cu->StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int turn = 0; turn < 3; turn++) {
        LIB_INVALID(culv_image_get_surface(cuda, 0, 0, &surface), NOT_MAPPED);
        LIB_INVALID(culv_image_get_texture(cuda, &t, &texture), NOT_MAPPED);
        LIB_INVALID(culv_image_prepare_write(cuda), NOT_MAPPED);
        LIB_INVALID(culv_image_get_array(cuda, 1, 0, &array), NOT_MAPPED, "map it, then ask anew");
        LIB_INVALID(culv_registration_get_array(r, 0, 1, &array), NOT_MAPPED);
        LIB_OK(culv_registration_map(&r, 1, s->stream));
        LIB_OK(culv_image_get_surface(cuda, 0, 0, &surface));
        REQUIRE(surface != 0);
        LIB_OK(culv_image_get_texture(cuda, &t, &texture));
        REQUIRE(texture != 0);
        LIB_INVALID(culv_registration_get_array(r, 1, 0, &array), LEVEL);
        LIB_INVALID(culv_registration_get_array(r, 0, 4, &array), LEVEL);
        if (turn == 1) { /* a mapped one is unmapped, then given up */
            LIB_OK(culv_registration_destroy(&r));
            LIB_OK(culv_gl_register_image(s->attached, image.name, GL_TEXTURE_2D, NULL, &r));
            cuda = culv_registration_image(r);
        } else {
            LIB_OK(culv_registration_unmap(&r, 1, s->stream));
        }
        /* Culvert's own; those calls only leave an error. */
        culv_image *same = cuda;
        culv_image_unmap(&same, NULL);
        REQUIRE(same == cuda);
    }
    LIB_OK(culv_registration_destroy(&r));
    LIB_CU_OK(&s->w, s->w.cu->StreamEndCapture(captured, &graph));
    LIB_CU_OK(&s->w, s->w.cu->GraphDestroy(graph));
    lib_stream_destroy(&s->w, captured);
    raw_gl_image_delete(&s->gl, &image);
}

/* Refusals ------------------------------------------------------------------------------------- */

REGISTER_CASE(refused_images, RAW_GL_CORE, .smoke = true)
{
    static const struct {
        GLenum target, format;
        int depth;
        culv_reason reason;
        const char *says;
    } rows[] = {
        {GL_TEXTURE_2D, GL_RGB8, 1, CULV_REASON_FORMAT, "use four channels"},
        {GL_TEXTURE_2D, GL_SRGB8_ALPHA8, 1, CULV_REASON_FORMAT, "glTextureView"},
        {GL_TEXTURE_2D, GL_RGBA8_SNORM, 1, CULV_REASON_FORMAT, "GL_PIXEL_PACK_BUFFER"},
        {GL_TEXTURE_2D, GL_RGB10_A2, 1, CULV_REASON_FORMAT, "GL_R32UI"},
        {GL_TEXTURE_2D, GL_R11F_G11F_B10F, 1, CULV_REASON_FORMAT, "culv_gl_image_create()"},
        {GL_TEXTURE_2D, GL_COMPRESSED_RGBA_BPTC_UNORM, 1, CULV_REASON_FORMAT, "copy blocks"},
        {GL_TEXTURE_2D, GL_DEPTH_COMPONENT24, 1, CULV_REASON_FORMAT, "culv_gl_readback_create"},
        {GL_TEXTURE_2D, GL_DEPTH_COMPONENT32F, 1, CULV_REASON_FORMAT, "culv_gl_readback_create"},
        {GL_TEXTURE_2D, GL_DEPTH24_STENCIL8, 1, CULV_REASON_FORMAT, "culv_gl_readback_create"},
        {GL_TEXTURE_1D, GL_RGBA8, 0, CULV_REASON_USAGE, "GL_TEXTURE_2D of one row"},
        {GL_TEXTURE_1D_ARRAY, GL_RGBA8, 1, CULV_REASON_USAGE, "a row for each layer"},
        {GL_TEXTURE_CUBE_MAP_ARRAY, GL_RGBA8, 12, CULV_REASON_USAGE, "GL_TEXTURE_2D_ARRAY"},
        {GL_TEXTURE_2D_MULTISAMPLE, GL_RGBA8, 1, CULV_REASON_USAGE, "culv_gl_readback_create"},
    };
    culv_registration *r;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        GLuint name = 0;
        s->gl.CreateTextures(rows[i].target, 1, &name);
        if (rows[i].target == GL_TEXTURE_2D_MULTISAMPLE)
            s->gl.TextureStorage2DMultisample(name, 4, rows[i].format, 16, 16, GL_TRUE);
        else if (rows[i].depth == 0)
            s->gl.TextureStorage1D(name, 1, rows[i].format, 16);
        else if (rows[i].depth > 1)
            s->gl.TextureStorage3D(name, 1, rows[i].format, 16, 16, rows[i].depth);
        else
            s->gl.TextureStorage2D(name, 1, rows[i].format, 16, 16);
        LIB_REFUSES_AS(r, culv_gl_register_image(s->attached, name, rows[i].target, NULL, &r),
                       CULV_ERROR_UNSUPPORTED, rows[i].reason, rows[i].says);
        s->gl.DeleteTextures(1, &name);
    }
#define REFUSED(target, ...)                                                                       \
    LIB_REFUSES(r, culv_gl_register_image(s->attached, name, target, NULL, &r), __VA_ARGS__)
    GLuint name = 0;
    s->gl.CreateRenderbuffers(1, &name);
    REFUSED(GL_RENDERBUFFER, INVALID, SIZE, "renderbuffer ",
            "has no storage yet; give it some first (glNamedRenderbufferStorage)");
    s->gl.NamedRenderbufferStorageMultisample(name, 4, GL_RGBA8, 16, 16);
    REFUSED(GL_RENDERBUFFER, UNSUPPORTED, USAGE, "culv_gl_readback_create");
    REFUSED(GL_TEXTURE_2D, INVALID, VALUE);
    s->gl.DeleteRenderbuffers(1, &name);
    s->gl.CreateTextures(GL_TEXTURE_2D, 1, &name);
    REFUSED(GL_TEXTURE_2D, INVALID, SIZE);
    s->gl.TextureStorage2D(name, 1, GL_RGBA8, 16, 16);
    REFUSED(GL_TEXTURE_3D, INVALID, VALUE, "is a GL_TEXTURE_2D, not a GL_TEXTURE_3D");
    REFUSED(0x1234, INVALID, VALUE);
    s->gl.DeleteTextures(1, &name);
    REFUSED(GL_TEXTURE_2D, INVALID, VALUE, "has no texture");
#undef REFUSED
    raw_gl_require_ok(&s->gl, "refusals", __FILE__, __LINE__);
    REQUIRE_EQ(lib_counts(&s->w).registrations, 0);
}

/* A map is refused, and the capture goes on. */
static void refuse_in_capture(stage *s, culv_registration *const *list, uint32_t count)
{
    CUgraph graph = NULL;
    CUcontext before = lib_enter(&s->w);
    CU_OK(s->w.cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_INVALID(culv_registration_map(list, count, s->stream), CAPTURE);
    CU_OK(s->w.cu->StreamEndCapture(s->stream, &graph));
    CU_OK(s->w.cu->GraphDestroy(graph));
    lib_leave(&s->w, before);
}

REGISTER_CASE(states, RAW_GL_CORE)
{
    const GLuint name = stage_buffer(s, 4096, 1);
    GLuint empty = 0;
    s->gl.CreateBuffers(1, &empty);
    culv_registration *r[2] = {NULL, NULL}, *none[1] = {NULL}, *out;
    culv_gl_register_desc bad = culv_gl_register_desc_init();
    bad.access = (culv_access)7;
    LIB_REFUSES(out, culv_gl_register_buffer(s->attached, name, &bad, &out), INVALID, VALUE);
    LIB_REFUSES(out, culv_gl_register_buffer(s->attached, 0, NULL, &out), INVALID, VALUE);
    LIB_REFUSES(out, culv_gl_register_buffer(s->attached, empty, NULL, &out), INVALID, SIZE);
    r[0] = stage_register(s, name, CULV_ACCESS_READ_WRITE);
    r[1] = r[0];
    CUarray array = NULL;
    LIB_INVALID(culv_registration_map(NULL, 1, s->stream), NULL_ARGUMENT);
    LIB_INVALID(culv_registration_map(none, 1, s->stream), NULL_ARGUMENT);
    LIB_INVALID(culv_registration_unmap(r, 1, s->stream), NOT_MAPPED);
    LIB_INVALID(culv_registration_map(r, 2, s->stream), VALUE, "twice");
    LIB_OK(culv_registration_map(r, 1, s->stream));
    LIB_INVALID(culv_registration_map(r, 1, s->stream), MAPPED);
    LIB_INVALID(culv_gl_readback_read(r[0], 0, 0, 0), VALUE, "no readback");
    LIB_INVALID(culv_registration_get_array(r[0], 0, 0, &array), USAGE);
    r[1] = NULL;
    LIB_INVALID(culv_registration_unmap(r, 2, s->stream), NULL_ARGUMENT);
    culv_buffer *cuda = culv_registration_buffer(r[0]), *same = cuda;
    lib_forget_error();
    culv_buffer_unmap(&same, NULL);
    LIB_SAYS("culv_registration_destroy() destroys both");
    REQUIRE(same == cuda && culv_registration_is_mapped(r[0]));
    LIB_OK(culv_registration_unmap(r, 1, s->stream));
    refuse_in_capture(s, r, 1);
    stage_turn(s, r, 1);
    LIB_OK(culv_registration_destroy(&r[0]));
    REQUIRE(culv_registration_buffer(NULL) == NULL && culv_registration_image(NULL) == NULL);
    REQUIRE_EQ(culv_registration_pointer(NULL), 0);
    REQUIRE(!culv_registration_is_mapped(NULL));
    s->gl.DeleteBuffers(1, &name);
    s->gl.DeleteBuffers(1, &empty);
}

/* Registrations of two attachments, or of two APIs. Direct3D is not on this system, so one of
 * OpenGL's says that it is Direct3D's. */
REGISTER_CASE(mixed_lists, RAW_GL_CORE)
{
    enum { COUNT = 3 };
    GLuint names[COUNT];
    culv_registration *r[COUNT] = {NULL}, *apart[2];
    culv_gl_desc d = culv_gl_desc_init();
    d.get_proc_address = raw_gl_get_proc;
    NEW(culv_gl, second, culv_gl_attach, s->w.device, &d);
    for (int i = 0; i < COUNT; i++) {
        names[i] = stage_buffer(s, 4096, 1);
        LIB_OK(culv_gl_register_buffer(i == 2 ? second : s->attached, names[i], NULL, &r[i]));
    }
    const culvi_registrar *opengl = r[1]->registrar;
    culvi_words words = *opengl->words;
    culvi_registrar direct3d = *opengl;
    words.name = "Direct3D";
    direct3d.words = &words;
    for (int mapped = 0; mapped < 2; mapped++) {
        for (int i = 1; i < COUNT; i++) {
            apart[0] = r[0];
            apart[1] = r[i];
            r[1]->registrar = &direct3d;
            LIB_INVALID(mapped ? culv_registration_unmap(apart, 2, s->stream)
                               : culv_registration_map(apart, 2, s->stream),
                        VALUE);
            r[1]->registrar = opengl;
            LIB_SAYS(mapped ? "culv_registration_unmap()" : "culv_registration_map()");
            LIB_SAYS(i == 1 ? "entry 1 is Direct3D's and entry 0 is OpenGL's"
                            : "entry 1 was registered by another attachment than entry 0");
        }
        for (int i = 0; i < COUNT; i++) {
            REQUIRE_EQ(culv_registration_is_mapped(r[i]), mapped);
            LIB_OK(mapped ? culv_registration_unmap(&r[i], 1, s->stream)
                          : culv_registration_map(&r[i], 1, s->stream));
        }
    }
    for (int i = 0; i < COUNT; i++)
        LIB_OK(culv_registration_destroy(&r[i]));
    s->gl.DeleteBuffers(COUNT, names);
    culv_gl_detach(&second);
}

REGISTER_CASE(changed_objects, RAW_GL_CORE, .own = true)
{
    GLuint buffer = stage_buffer(s, 4096, 1), texture = 0;
    culv_registration *r = stage_register(s, buffer, CULV_ACCESS_READ_WRITE);
    s->gl.NamedBufferData(buffer, 8192, NULL, GL_DYNAMIC_DRAW);
    LIB_INVALID(culv_registration_map(&r, 1, s->stream), VALUE, "was resized");
    LIB_OK(culv_registration_destroy(&r));
    r = stage_register(s, buffer, CULV_ACCESS_READ_WRITE);
    LIB_OK(culv_registration_map(&r, 1, s->stream));
    REQUIRE_EQ(culv_buffer_size(culv_registration_buffer(r)), 8192);
    LIB_OK(culv_registration_unmap(&r, 1, s->stream));
    s->gl.DeleteBuffers(1, &buffer);
    LIB_INVALID(culv_registration_map(&r, 1, s->stream), VALUE, "was deleted");
    LIB_OK(culv_registration_destroy(&r));

    s->gl.CreateTextures(GL_TEXTURE_2D, 1, &texture);
    s->gl.BindTexture(GL_TEXTURE_2D, texture);
    s->gl.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    LIB_OK(culv_gl_register_image(s->attached, texture, GL_TEXTURE_2D, NULL, &r));
    s->gl.TexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 32, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    const GLenum error = s->gl.GetError();
    GLint width = 0;
    s->gl.GetTextureLevelParameteriv(texture, 0, GL_TEXTURE_WIDTH, &width);
    if (error != GL_NO_ERROR) { /* a driver may hold on to what is registered */
        REQUIRE_EQ(error, GL_INVALID_OPERATION);
        REQUIRE_EQ(width, 16);
        stage_turn(s, &r, 1);
    } else {
        REQUIRE_EQ(width, 32);
        LIB_INVALID(culv_registration_map(&r, 1, s->stream), VALUE, "another size or format");
    }
    LIB_OK(culv_registration_destroy(&r));
    LIB_OK(culv_gl_register_image(s->attached, texture, GL_TEXTURE_2D, NULL, &r));
    s->gl.DeleteTextures(1, &texture);
    LIB_INVALID(culv_registration_map(&r, 1, s->stream), VALUE, "was deleted");
    LIB_OK(culv_registration_destroy(&r));
}

/* What the unchecked ones leave to the driver. */
REGISTER_CASE(unchecked, RAW_GL_CORE, .own = true)
{
    if (!s->w.cu->software) SKIP("what NVIDIA's driver does with a deleted buffer, nobody says");
    const GLuint buffer = stage_buffer(s, 4096, 1);
    culv_gl_register_desc d = culv_gl_register_desc_init();
    d.unchecked = 1;
    NEW(culv_registration, r, culv_gl_register_buffer, s->attached, buffer, &d);
    s->gl.DeleteBuffers(1, &buffer);
    LIB_ERROR(culv_registration_map(&r, 1, s->stream), DRIVER, DRIVER_REFUSED,
              "deleted or resized");
    LIB_OK(culv_registration_destroy(&r));
}

/* What a map and an unmap ask of OpenGL. */
static int asked;

static void(APIENTRYP real_size)(GLuint, GLenum, GLint64 *);

static void APIENTRY counted_size(GLuint buffer, GLenum name, GLint64 *out)
{
    asked++;
    real_size(buffer, name, out);
}

static void *counting_get_proc(const char *name)
{
    void *found = raw_gl_get_proc(name);
    void(APIENTRYP size)(GLuint, GLenum, GLint64 *) = counted_size;
    if (strcmp(name, "glGetNamedBufferParameteri64v") != 0) return found;
    memcpy(&real_size, &found, sizeof found);
    memcpy(&found, &size, sizeof found);
    return found;
}

static int asked_by_a_turn(const stage *s, culv_registration *const *list, uint32_t count)
{
    asked = 0;
    stage_turn(s, list, count);
    return asked;
}

/* The context and the stream are looked at by each call, the object by each map, and none of them
 * where the program answers for all; lost contexts are still refused. */
LOADER_CASE(counting_get_proc, asks, .own = true)
{
    const GLuint buffers[2] = {stage_buffer(s, 4097, 1), stage_buffer(s, 819200, 1)};
    culv_gl_register_desc d = culv_gl_register_desc_init();
    culv_registration *both[2] = {NULL, NULL};
    LIB_OK(culv_gl_register_buffer(s->attached, buffers[0], &d, &both[0]));
    d.unchecked = 1;
    LIB_OK(culv_gl_register_buffer(s->attached, buffers[1], &d, &both[1]));
    REQUIRE_EQ(asked_by_a_turn(s, &both[0], 1), 3);
    REQUIRE_EQ(asked_by_a_turn(s, &both[1], 1), 0);
    REQUIRE_EQ(asked_by_a_turn(s, both, 2), 3);
    REQUIRE_EQ(asked_by_a_turn(s, (culv_registration *[]){both[1], both[0]}, 2), 3);
    refuse_in_capture(s, both, 2);
    CUgraph graph = NULL;
    CUcontext before = lib_enter(&s->w);
    CU_OK(s->w.cu->StreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_EQ(culv_registration_map(&both[1], 1, s->stream), CULV_ERROR_DRIVER);
    REQUIRE(!culv_registration_is_mapped(both[1]));
    REQUIRE(s->w.cu->StreamEndCapture(s->stream, &graph) != CUDA_SUCCESS);
    lib_leave(&s->w, before);
    LIB_OK(culv_registration_destroy(&both[0]));
    culv_gl_lose_contexts(s->attached);
    asked = 0;
    LIB_INVALID(culv_registration_map(&both[1], 1, s->stream), CONTEXT);
    REQUIRE_EQ(asked, 0);
    LIB_OK(culv_registration_destroy(&both[1]));
    s->gl.DeleteBuffers(2, buffers);
}

/* A texture with a bindless handle takes no parameters, which is how Culvert knows. */
static bool handle_made;

static GLenum pending;
static void(APIENTRYP real_parameter)(GLuint, GLenum, GLint);
static GLenum(APIENTRYP real_error)(void);

static void APIENTRY wrapped_parameter(GLuint texture, GLenum name, GLint value)
{
    if (handle_made)
        pending = GL_INVALID_OPERATION;
    else
        real_parameter(texture, name, value);
}

static GLenum APIENTRY wrapped_error(void)
{
    const GLenum error = pending;
    pending = GL_NO_ERROR;
    return error != GL_NO_ERROR ? error : real_error();
}

static void *bindless_get_proc(const char *name)
{
    void *found = raw_gl_get_proc(name);
    void(APIENTRYP parameter)(GLuint, GLenum, GLint) = wrapped_parameter;
    GLenum(APIENTRYP error)(void) = wrapped_error;
    if (strcmp(name, "glTextureParameteri") == 0) {
        memcpy(&real_parameter, &found, sizeof found);
        memcpy(&found, &parameter, sizeof found);
    } else if (strcmp(name, "glGetError") == 0) {
        memcpy(&real_error, &found, sizeof found);
        memcpy(&found, &error, sizeof found);
    }
    return found;
}

LOADER_CASE(bindless_get_proc, bindless)
{
    raw_gl_image image;
    culv_registration *r = NULL;
    REQUIRE(raw_gl_image_make(&s->gl, &raw_gl_kinds[0], raw_gl_format_named("GL_RGBA8"), &image));
    handle_made = true;
    LIB_REFUSES(r, culv_gl_register_image(s->attached, image.name, GL_TEXTURE_2D, NULL, &r),
                UNSUPPORTED, USAGE, "bindless handle");
    handle_made = false;
    LIB_OK(culv_gl_register_image(s->attached, image.name, GL_TEXTURE_2D, NULL, &r));
    handle_made = true; /* after the registration it may be asked for */
    stage_turn(s, &r, 1);
    handle_made = false;
    LIB_OK(culv_registration_destroy(&r));
    raw_gl_image_delete(&s->gl, &image);
}

/* Contexts ------------------------------------------------------------------------------------- */

/* In the current context, a buffer of the name and the size of the attachment's marker. */
static void forge_marker(const stage *s)
{
    GLuint made = 0;
    while (made < s->attached->marker)
        GL_OK(&s->gl, s->gl.CreateBuffers(1, &made));
    REQUIRE_EQ(made, s->attached->marker);
    GL_OK(&s->gl,
          s->gl.NamedBufferData(made, (GLsizeiptr)s->attached->marked_size, NULL, GL_STATIC_DRAW));
}

REGISTER_CASE(contexts, RAW_GL_CORE)
{
    GLuint buffer = stage_buffer(s, 4096, 1);
    void *stranger = raw_gl_another(&s->gl, false), *shared = raw_gl_another(&s->gl, true);
    void *forger = raw_gl_another(&s->gl, false);
    culv_registration *r = stage_register(s, buffer, CULV_ACCESS_READ_WRITE), *kept = r, *out;
    /* The stranger has an attachment of its own: the two markers may have one name. */
    culv_gl_desc d = culv_gl_desc_init();
    d.get_proc_address = raw_gl_get_proc;
    raw_gl_current(&s->gl, stranger);
    NEW(culv_gl, strangers, culv_gl_attach, s->w.device, &d);
    raw_gl_current(&s->gl, forger);
    forge_marker(s);
    void *const wrong[] = {NULL, stranger, forger};
    for (int i = 0; i < 3; i++) {
        raw_gl_current(&s->gl, wrong[i]);
        LIB_REFUSES(out, culv_gl_register_buffer(s->attached, buffer, NULL, &out), INVALID,
                    CONTEXT);
        LIB_INVALID(culv_registration_destroy(&r), CONTEXT);
        REQUIRE(r == kept);
        if (wrong[i] != forger) /* there CUDA's driver would tell */
            LIB_INVALID(culv_registration_map(&r, 1, s->stream), CONTEXT);
        if (wrong[i] != NULL) REQUIRE_EQ(s->gl.GetError(), GL_NO_ERROR); /* the look left none */
        if (wrong[i] != NULL) LIB_SAYS("shares no objects");
        REQUIRE(!culv_gl_is_current(s->attached));
    }
    raw_gl es = s->gl; /* which refuses some questions */
    es.profile = RAW_GL_ES;
    void *embedded = raw_gl_another(&es, false);
    if (embedded != NULL) {
        raw_gl_current(&es, embedded);
        s->gl.BindBuffer(GL_ARRAY_BUFFER, s->attached->marker);
        REQUIRE(!culv_gl_is_current(s->attached));
        LIB_INVALID(culv_registration_destroy(&r), CONTEXT);
        REQUIRE_EQ(s->gl.GetError(), GL_NO_ERROR);
        raw_gl_current(&es, NULL);
        raw_gl_destroy(&es, embedded);
    }
    raw_gl_current(&s->gl, shared);
    LIB_OK(culv_registration_map(&r, 1, s->stream));
    raw_gl_current(&s->gl, stranger);
    LIB_INVALID(culv_registration_unmap(&r, 1, s->stream), CONTEXT);
    REQUIRE(culv_registration_is_mapped(r));
    culv_gl_detach(&strangers);
    raw_gl_current(&s->gl, shared);
    LIB_OK(culv_registration_unmap(&r, 1, s->stream));
    LIB_OK(culv_registration_map(&r, 1, s->stream));
    raw_gl_current(&s->gl, NULL);
    LIB_INVALID(culv_registration_unmap(&r, 1, s->stream), CONTEXT);
    REQUIRE(culv_registration_is_mapped(r));
    raw_gl_current(&s->gl, s->gl.context);
    LIB_OK(culv_registration_unmap(&r, 1, s->stream));
    LIB_OK(culv_registration_destroy(&r));
    raw_gl_destroy(&s->gl, forger);
    raw_gl_destroy(&s->gl, stranger);
    raw_gl_destroy(&s->gl, shared);
    s->gl.DeleteBuffers(1, &buffer);
}

/* The contexts are destroyed with registrations in them. */
TEST(lost_contexts, .own = true)
{
    stage s;
    stage_open(&s, RAW_GL_CORE);
    culv_registration *r[2], *out;
    culv_gl_readback_desc d = culv_gl_readback_desc_init();
    d.width = d.height = 16;
    r[0] = stage_register(&s, stage_buffer(&s, 4096, 1), CULV_ACCESS_READ_WRITE);
    r[1] = stage_register(&s, stage_buffer(&s, 4096, 1), CULV_ACCESS_READ_WRITE);
    NEW(culv_registration, readback, culv_gl_readback_create, s.attached, &d);
    LIB_OK(culv_registration_map(&r[1], 1, s.stream));
    raw_gl_current(&s.gl, NULL);
    raw_gl_destroy(&s.gl, s.gl.context);
    LIB_INVALID(culv_registration_map(r, 1, s.stream), CONTEXT);
    LIB_INVALID(culv_registration_destroy(&r[0]), CONTEXT);
    culv_gl_lose_contexts(s.attached);
    LIB_INVALID(culv_registration_map(r, 1, s.stream), CONTEXT);
    LIB_REFUSES(out, culv_gl_register_buffer(s.attached, 1, NULL, &out), INVALID, CONTEXT);
    LIB_OK(culv_registration_destroy(&r[0]));
    LIB_OK(culv_registration_destroy(&r[1]));
    LIB_OK(culv_registration_destroy(&readback));
    lib_finish(&s.w, s.stream);
    lib_stream_destroy(&s.w, s.stream);
    REQUIRE_EQ(lib_counts(&s.w).registrations, 0);
    culv_gl_detach(&s.attached);
    culv_device_close(&s.w.device); /* takes the driver's part with its context */
    raw_cuda_require_empty(s.w.cu);
}

/* Depth and samples ---------------------------------------------------------------------------- */

typedef struct target {
    GLuint framebuffer, color, depth;
} target;

enum { WIDTH = 40, HEIGHT = 24 };

/* The lower half is red and near, the upper one blue and far. */
static void draw(const stage *s, int samples, GLenum depth_format, target *out)
{
    static const float red[4] = {1, 0, 0, 1}, blue[4] = {0, 0, 1, 1};
    const raw_gl *gl = &s->gl;
    gl->CreateRenderbuffers(1, &out->color);
    gl->CreateRenderbuffers(1, &out->depth);
    gl->NamedRenderbufferStorageMultisample(out->color, samples, GL_RGBA8, WIDTH, HEIGHT);
    gl->NamedRenderbufferStorageMultisample(out->depth, samples, depth_format, WIDTH, HEIGHT);
    gl->CreateFramebuffers(1, &out->framebuffer);
    gl->NamedFramebufferRenderbuffer(out->framebuffer, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
                                     out->color);
    gl->NamedFramebufferRenderbuffer(
        out->framebuffer,
        depth_format == GL_DEPTH24_STENCIL8 ? GL_DEPTH_STENCIL_ATTACHMENT : GL_DEPTH_ATTACHMENT,
        GL_RENDERBUFFER, out->depth);
    gl->Enable(GL_SCISSOR_TEST);
    for (int half = 0; half < 2; half++) {
        const float depth = half == 0 ? 0.25f : 0.75f;
        gl->Scissor(0, half * HEIGHT / 2, WIDTH, HEIGHT / 2);
        gl->ClearNamedFramebufferfv(out->framebuffer, GL_COLOR, 0, half == 0 ? red : blue);
        if (depth_format == GL_DEPTH24_STENCIL8)
            gl->ClearNamedFramebufferfi(out->framebuffer, GL_DEPTH_STENCIL, 0, depth, 5 + half);
        else
            gl->ClearNamedFramebufferfv(out->framebuffer, GL_DEPTH, 0, &depth);
    }
    raw_gl_require_ok(gl, "drawing", __FILE__, __LINE__);
    /* The scissor stays: a readback must not be cut by it. */
}

static void erase(const stage *s, target *t)
{
    s->gl.Disable(GL_SCISSOR_TEST);
    s->gl.DeleteFramebuffers(1, &t->framebuffer);
    s->gl.DeleteRenderbuffers(1, &t->color);
    s->gl.DeleteRenderbuffers(1, &t->depth);
}

/* Word `row` of each row must be `lower` in OpenGL's lower half. */
static void require_halves(const stage *s, culv_registration *readback, bool flip, uint32_t lower,
                           uint32_t upper, uint32_t tolerance)
{
    static uint32_t words[WIDTH * HEIGHT];
    LIB_OK(culv_registration_map(&readback, 1, s->stream));
    LIB_CU_OK(&s->w, s->w.cu->MemcpyDtoHAsync(words, culv_registration_pointer(readback),
                                              sizeof words, s->stream));
    lib_finish(&s->w, s->stream);
    LIB_OK(culv_registration_unmap(&readback, 1, s->stream));
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++) {
            const uint32_t expected = (y < HEIGHT / 2) != flip ? lower : upper;
            const uint32_t is = words[y * WIDTH + x];
            if (is - expected + tolerance > 2 * tolerance)
                FAIL("(%u, %u) is %#x, not %#x", x, y, is, expected);
        }
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

/* A resize handler gives the framebuffer smaller storage, and forgets the readback. */
static void refuse_smaller(const stage *s, culv_registration *readback, const target *t,
                           int samples, bool packed)
{
    for (int smaller = 1; smaller >= 0; smaller--) {
        s->gl.NamedRenderbufferStorageMultisample(t->color, samples, GL_RGBA8, WIDTH - smaller,
                                                  HEIGHT);
        s->gl.NamedRenderbufferStorageMultisample(
            t->depth, samples, packed ? GL_DEPTH24_STENCIL8 : GL_DEPTH_COMPONENT32F,
            WIDTH - smaller, HEIGHT);
        if (smaller) {
            LIB_INVALID(culv_gl_readback_read(readback, t->framebuffer, 0, 0), EXTENT, "39 x 24");
        } else
            LIB_OK(culv_gl_readback_read(readback, t->framebuffer, 0, 0));
    }
}

REGISTER_CASE(readbacks, RAW_GL_CORE)
{
    void *shared = raw_gl_another(&s->gl, true);
    for (int samples = 0; samples <= 4; samples += 4)
        for (int flip = 0; flip < 2; flip++)
            for (int format = 0; format < 3; format++) {
                static const culv_gl_readback_format kinds[] = {CULV_GL_READBACK_DEPTH32F,
                                                                CULV_GL_READBACK_DEPTH24_STENCIL8,
                                                                CULV_GL_READBACK_RGBA8};
                const bool packed = kinds[format] == CULV_GL_READBACK_DEPTH24_STENCIL8;
                target t;
                culv_gl_readback_desc d = culv_gl_readback_desc_init();
                d.width = WIDTH;
                d.height = HEIGHT;
                d.format = kinds[format];
                d.flip = (culv_bool)flip;
                NEW(culv_registration, readback, culv_gl_readback_create, s->attached, &d);
                draw(s, samples, packed ? GL_DEPTH24_STENCIL8 : GL_DEPTH_COMPONENT32F, &t);
                LIB_OK(culv_gl_readback_read(readback, t.framebuffer, 0, 0));
                /* In another context the name of one that is kept would be the program's own. */
                for (GLuint name = 1; name < 64; name++)
                    REQUIRE_EQ(s->gl.IsFramebuffer(name), name == t.framebuffer);
                if (format == 0)
                    require_halves(s, readback, flip != 0, float_bits(0.25f), float_bits(0.75f), 0);
                else if (packed) /* 24 bits of depth, by whatever rounding, and the stencil */
                    require_halves(s, readback, flip != 0, 0x40000005u, 0xc0000006u, 0x100);
                else
                    require_halves(s, readback, flip != 0, 0xff0000ffu, 0xffff0000u, 0);
                for (int side = 0; side < 4; side++)
                    LIB_INVALID(culv_gl_readback_read(readback, t.framebuffer,
                                                      (int[]){-1, 1, 0, 0}[side],
                                                      (int[]){0, 0, -1, 1}[side]),
                                EXTENT);
                refuse_smaller(s, readback, &t, samples, packed);
                LIB_OK(culv_registration_map(&readback, 1, s->stream));
                LIB_INVALID(culv_gl_readback_read(readback, t.framebuffer, 0, 0), MAPPED);
                LIB_OK(culv_registration_unmap(&readback, 1, s->stream));
                raw_gl_current(&s->gl, shared);
                LIB_OK(culv_registration_destroy(&readback));
                REQUIRE(readback == NULL);
                raw_gl_current(&s->gl, s->gl.context);
                erase(s, &t);
            }
    raw_gl_destroy(&s->gl, shared);
    raw_gl_require_ok(&s->gl, "readbacks", __FILE__, __LINE__);
}

REGISTER_CASE(refused_readbacks, RAW_GL_CORE)
{
    target t;
    culv_registration *readback = NULL;
    culv_gl_readback_desc d = culv_gl_readback_desc_init();
    LIB_REFUSES(readback, culv_gl_readback_create(s->attached, &d, &readback), INVALID, EXTENT);
    d.width = WIDTH;
    d.height = HEIGHT;
    d.format = (culv_gl_readback_format)9;
    LIB_REFUSES(readback, culv_gl_readback_create(s->attached, &d, &readback), INVALID, VALUE);
    /* Depth of another format than the one that is resolved into. */
    d.format = CULV_GL_READBACK_DEPTH32F;
    draw(s, 4, GL_DEPTH_COMPONENT24, &t);
    LIB_OK(culv_gl_readback_create(s->attached, &d, &readback));
    LIB_ERROR(culv_gl_readback_read(readback, t.framebuffer, 0, 0), DRIVER, FORMAT,
              "internal_format");
    LIB_OK(culv_registration_destroy(&readback));
    d.internal_format = GL_DEPTH_COMPONENT24;
    LIB_OK(culv_gl_readback_create(s->attached, &d, &readback));
    LIB_OK(culv_gl_readback_read(readback, t.framebuffer, 0, 0));
    require_halves(s, readback, false, float_bits(0.25f), float_bits(0.75f), 16);
    LIB_ERROR(culv_gl_readback_read(readback, 4242, 0, 0), DRIVER, VALUE);
    LIB_OK(culv_registration_destroy(&readback));
    erase(s, &t);
}
