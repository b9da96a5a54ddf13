/* SPDX-License-Identifier: MIT */
/* Rings between CUDA and OpenGL: buffers and images, what a refused way goes on to, objects of the
 * caller's own, wrong calls. backend-gl has what all back-ends' rings promise, in each way. */
#define TEST_GROUP "gl.rings."
#include "gl_stage.h"

enum { WORDS = 1024, BYTES = 4 * WORDS, WIDTH = 36, HEIGHT = 20, MOST = 16, MOST_TEXEL = 3 };

static const uint64_t FAR = TEST_FAR_MS * UINT64_C(1000000);

/* An image's texels are words, all of one value. */
typedef struct texels {
    GLenum target, internal, pixels, type;
    uint32_t words, height;
} texels;

static const texels plain = {GL_TEXTURE_2D, GL_R32F, GL_RED, GL_FLOAT, 1, HEIGHT};
static const texels three = {GL_TEXTURE_2D, GL_RGB32F, GL_RGB, GL_FLOAT, 3, HEIGHT};
static const texels flat = {GL_TEXTURE_1D, GL_R32F, GL_RED, GL_FLOAT, 1, 1};

typedef struct turns {
    gl_stage s;
    culv_ring *ring;
    const texels *image;
    culv_ring_side cuda, gl;
    CUdeviceptr words;   /* a row of an image's texels for each line of it */
    CUdeviceptr results; /* a consumer's, for each frame: the buffer, then the image */
    uint32_t seen;
} turns;

static culv_gl_ring_info info_of(const culv_ring *ring)
{
    culv_gl_ring_info info = culv_gl_ring_info_init();
    LIB_OK(culv_gl_ring_get_info(ring, &info));
    return info;
}

/* Of a frame: a float that no driver rounds. */
static uint32_t value_of(uint64_t number)
{
    return 0x3f800000u + (uint32_t)number + 1;
}

static size_t image_words(const texels *t)
{
    return (size_t)WIDTH * t->height * t->words;
}

static size_t result_bytes(const texels *t)
{
    return BYTES + 4 * image_words(t);
}

static culv_gl_buffer_create_desc buffer_desc(uint32_t fallback)
{
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    d.size = BYTES;
    d.label = "words";
    d.fallback = fallback;
    return d;
}

static culv_gl_image_create_desc image_desc(const texels *t)
{
    culv_gl_image_create_desc d = culv_gl_image_create_desc_init();
    d.target = t->target;
    d.internal_format = t->internal;
    d.width = WIDTH;
    d.height = t->height;
    d.label = "picture";
    return d;
}

static culv_result try_ring(turns *t, culv_gl_way way, culv_ring_side side, uint32_t depth,
                            const texels *image, uint32_t fallback)
{
    culv_gl_ring_desc d = culv_gl_ring_desc_init();
    const culv_gl_buffer_create_desc b = buffer_desc(fallback);
    const culv_gl_image_create_desc i = image_desc(image);
    const culv_gl_ring_resource resources[] = {{.buffer = &b}, {.image = &i}};
    d.max_depth = depth;
    d.resources = resources;
    d.num_resources = 2;
    d.side = side;
    d.way = way;
    d.label = "frames";
    t->image = image;
    t->gl = side;
    t->cuda = side == CULV_RING_PRODUCER ? CULV_RING_CONSUMER : CULV_RING_PRODUCER;
    return culv_gl_ring_create(t->s.attachment, &d, &t->ring);
}

static void begin_turns(turns *t)
{
    const raw_cuda *cu = t->s.cu;
    t->seen = 0;
    CU_OK_IN(&t->s, cu->MemAlloc(&t->words, 4 * image_words(t->image)));
    CU_OK_IN(&t->s, cu->MemAlloc(&t->results, MOST * result_bytes(t->image)));
}

static void end_turns(turns *t)
{
    static uint32_t found[BYTES / 4 + WIDTH * HEIGHT * MOST_TEXEL];
    const raw_cuda *cu = t->s.cu;
    LIB_OK(culv_ring_drain(t->ring, FAR, 0));
    gl_stage_finish(&t->s);
    for (uint32_t n = 0; n < t->seen; n++) {
        gl_stage_download(&t->s, found, t->results + n * result_bytes(t->image),
                          result_bytes(t->image));
        for (size_t k = 0; k < result_bytes(t->image) / 4; k++)
            if (found[k] != value_of(n))
                FAIL("frame %u, word %zu: CUDA reads 0x%08x, not 0x%08x", (unsigned)n, k,
                     (unsigned)found[k], (unsigned)value_of(n));
    }
    CU_OK_IN(&t->s, cu->MemFree(t->words));
    CU_OK_IN(&t->s, cu->MemFree(t->results));
    LIB_OK(culv_ring_destroy(&t->ring, NULL));
    REQUIRE(t->ring == NULL);
}

/* CUDA's whole turn is queued: nothing of it waits for the GPU. */
static void use_by_cuda(const turns *t, uint32_t slot, uint64_t number)
{
    const raw_cuda *cu = t->s.cu;
    culv_image *image = culv_ring_image(t->ring, slot, 1);
    const CUdeviceptr buffer = culv_ring_pointer(t->ring, slot, 0);
    const bool writes = t->cuda == CULV_RING_PRODUCER;
    const size_t row = (size_t)4 * WIDTH * t->image->words;
    const CUdeviceptr result = t->results + (size_t)number * result_bytes(t->image);
    CUarray array = NULL;
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = t->words,
                          .srcPitch = row,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = result + BYTES,
                          .dstPitch = row,
                          .WidthInBytes = row,
                          .Height = t->image->height};
    REQUIRE(buffer != 0 && image != NULL);
    REQUIRE(culv_ring_buffer(t->ring, slot, 0) != NULL);
    REQUIRE(culv_ring_image(t->ring, slot, 0) == NULL);
    if (t->image->words != 3) {
        LIB_OK(culv_image_get_array(image, 0, 0, &array));
        if (writes) {
            copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
            copy.dstArray = array;
        } else {
            copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
            copy.srcArray = array;
        }
    } else { /* no array has three channels */
        culv_subresource_layout layout = culv_subresource_layout_init();
        LIB_OK(culv_image_get_layout(image, 0, 0, &layout));
        REQUIRE_EQ(layout.row_pitch, row);
        if (writes)
            copy.dstDevice = layout.pointer;
        else
            copy.srcDevice = layout.pointer;
    }
    if (writes) {
        CU_OK(cu->MemsetD32Async(buffer, value_of(number), WORDS, t->s.stream));
        CU_OK(cu->MemsetD32Async(t->words, value_of(number), image_words(t->image), t->s.stream));
    } else {
        CU_OK(cu->MemcpyDtoDAsync(result, buffer, BYTES, t->s.stream));
    }
    CU_OK(cu->Memcpy2DAsync(&copy, t->s.stream));
}

static void turn_cuda(turns *t)
{
    CUcontext before;
    culv_ring_frame f;
    CU_OK(t->s.cu->CtxPushCurrent(t->s.context));
    LIB_OK(culv_ring_acquire_on(t->ring, t->cuda, t->s.stream, FAR, &f));
    REQUIRE(f.number < MOST);
    use_by_cuda(t, f.slot, f.number);
    LIB_OK(culv_ring_release_on(t->ring, t->cuda, t->s.stream, &f));
    if (t->cuda == CULV_RING_CONSUMER) t->seen = (uint32_t)f.number + 1;
    CU_OK(t->s.cu->CtxPopCurrent(&before));
}

static void require_all(const uint32_t *words, size_t count, uint64_t number, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != value_of(number))
            FAIL("frame %u, word %zu of the %s: OpenGL reads 0x%08x, not 0x%08x", (unsigned)number,
                 i, what, (unsigned)words[i], (unsigned)value_of(number));
}

static void use_by_gl(const turns *t, uint32_t slot, uint64_t number)
{
    static uint32_t words[WORDS + WIDTH * HEIGHT * MOST_TEXEL];
    const raw_gl *gl = &t->s.gl;
    const GLuint buffer = culv_gl_ring_name(t->ring, slot, 0);
    const GLuint image = culv_gl_ring_name(t->ring, slot, 1);
    REQUIRE(buffer != 0 && image != 0);
    if (t->cuda == CULV_RING_CONSUMER) {
        const uint32_t v = value_of(number), all[3] = {v, v, v};
        GL_OK(gl, gl->ClearNamedBufferData(buffer, GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, &v));
        GL_OK(gl, gl->ClearTexImage(image, 0, t->image->pixels, t->image->type, all));
        return;
    }
    raw_gl_read_buffer(gl, buffer, words, BYTES);
    require_all(words, WORDS, number, "buffer");
    memset(words, 0, sizeof words);
    gl->PixelStorei(GL_PACK_ALIGNMENT, 1);
    GL_OK(gl, gl->GetTextureImage(image, 0, t->image->pixels, t->image->type,
                                  (GLsizei)(4 * image_words(t->image)), words));
    require_all(words, image_words(t->image), number, "image");
}

static void turn_gl(turns *t)
{
    culv_ring_frame f;
    LIB_OK(culv_ring_acquire(t->ring, t->gl, FAR, &f));
    use_by_gl(t, f.slot, f.number);
    LIB_OK(culv_ring_release(t->ring, t->gl, &f));
}

/* The producer fills what is free, then the consumer takes it. */
static void flow(turns *t, uint32_t frames, uint32_t together)
{
    for (uint32_t done = 0; done < frames; done += together) {
        const uint32_t count = frames - done < together ? frames - done : together;
        for (int producer = 1; producer >= 0; producer--) {
            const bool cuda = (t->cuda == CULV_RING_PRODUCER) == (producer == 1);
            for (uint32_t i = 0; i < count; i++)
                (cuda ? turn_cuda : turn_gl)(t);
            if (cuda)
                LIB_OK(culv_ring_flush_on(t->ring, t->cuda, t->s.stream));
            else
                LIB_OK(culv_ring_flush(t->ring, t->gl, NULL));
        }
    }
}

/* CUDA's side is another GPU: buffers go across, and an image says what does. */
TEST(across, .own = true)
{
    static uint32_t words[BYTES / 4];
    turns t = {.ring = NULL};
    culv_ring_frame f;
    gl_stage_across = true;
    gl_stage_open(&t.s, 0);
    LIB_ERROR(try_ring(&t, CULV_GL_WAY_MEMORY, CULV_RING_CONSUMER, 3, &plain, 0), UNSUPPORTED,
              DEVICE_MISMATCH, "Share a buffer");
    culv_gl_ring_desc d = culv_gl_ring_desc_init();
    const culv_gl_buffer_create_desc b = buffer_desc(0);
    const culv_gl_ring_resource resource = {.buffer = &b};
    d.max_depth = 3;
    d.resources = &resource;
    d.num_resources = 1;
    d.side = CULV_RING_CONSUMER;
    d.way = CULV_GL_WAY_MEMORY;
    LIB_OK(culv_gl_ring_create(t.s.attachment, &d, &t.ring));
    for (uint32_t n = 0; n < 10; n++) {
        LIB_OK(culv_ring_acquire_on(t.ring, CULV_RING_PRODUCER, t.s.stream, FAR, &f));
        CU_OK_IN(&t.s, t.s.cu->MemsetD32Async(culv_ring_pointer(t.ring, f.slot, 0), value_of(n),
                                              BYTES / 4, t.s.stream));
        LIB_OK(culv_ring_release_on(t.ring, CULV_RING_PRODUCER, t.s.stream, &f));
        LIB_OK(culv_ring_acquire(t.ring, CULV_RING_CONSUMER, FAR, &f));
        raw_gl_read_buffer(&t.s.gl, culv_gl_ring_name(t.ring, f.slot, 0), words, BYTES);
        require_all(words, BYTES / 4, n, "buffer");
        LIB_OK(culv_ring_release(t.ring, CULV_RING_CONSUMER, &f));
    }
    LIB_OK(culv_ring_drain(t.ring, FAR, 0));
    LIB_OK(culv_ring_destroy(&t.ring, NULL));
    gl_stage_close(&t.s);
}

/* What a refused way goes on to -------------------------------------------------------------------
 */

static const struct refusal {
    const char *name, *hides;
    bool stranger;
    const texels *image;
    culv_gl_way way; /* with a fallback */
    const char *says[2];
    /* Without one. */
    culv_result result;
    culv_reason reason;
} refusals[] = {
    TEST_ROW(.name = "no memory objects: registered", .hides = "GL_EXT_memory_object",
             .image = &plain, .way = CULV_GL_WAY_REGISTER,
             .says = {"MEMORY: ", "lacks GL_EXT_memory_object,"}),
    TEST_ROW(.name = "no handles: registered", .hides = "GL_EXT_memory_object_fd", .image = &plain,
             .way = CULV_GL_WAY_REGISTER, .says = {"MEMORY: ", "lacks GL_EXT_memory_object_fd,"}),
    TEST_ROW(.name = "another GPU's context", .stranger = true, .image = &plain,
             .way = CULV_GL_WAY_STAGED, .says = {"MEMORY: ", "REGISTER: "},
             .result = CULV_ERROR_INVALID, .reason = CULV_REASON_DEVICE_MISMATCH),
    TEST_ROW(.name = "a format that CUDA lacks", .image = &three, .way = CULV_GL_WAY_STAGED,
             .says = {"MEMORY: ", "REGISTER: "}, .result = CULV_ERROR_UNSUPPORTED,
             .reason = CULV_REASON_FORMAT),
    TEST_ROW(.name = "no memory objects, and a target that is not registered",
             .hides = "GL_EXT_memory_object", .image = &flat, .way = CULV_GL_WAY_STAGED,
             .says = {"lacks GL_EXT_memory_object,", "REGISTER: "},
             .result = CULV_ERROR_UNSUPPORTED, .reason = CULV_REASON_EXTENSION_MISSING),
    TEST_ROW(.name = "no semaphores: OpenGL waits on the CPU, the memory is shared",
             .hides = "GL_EXT_semaphore", .image = &plain, .way = CULV_GL_WAY_MEMORY,
             .says = {"", ""}),
};

TEST(refused_ways, .smoke = true)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const struct refusal *r = &refusals[i];
        for (int side = 0; side < 2; side++) {
            turns t = {.ring = NULL};
            printf("%s\n", r->name);
            lying_gl.hides[0] = r->hides;
            lying_gl.uuid_xor = r->stranger;
            gl_stage_open(&t.s, CULV_FALLBACK_HOST);
            if (r->way == CULV_GL_WAY_STAGED) {
                LIB_FAILS(try_ring(&t, CULV_GL_WAY_NONE, (culv_ring_side)side, 3, r->image, 0),
                          r->result, r->reason);
                REQUIRE(t.ring == NULL);
                LIB_SAYS(r->says[0]);
                LIB_SAYS(r->says[1]);
                LIB_SAYS("; REGISTER: ");
                LIB_SAYS("; STAGED: no resource allows CULV_FALLBACK_HOST");
            } else {
                LIB_OK(try_ring(&t, CULV_GL_WAY_NONE, (culv_ring_side)side, 3, r->image, 0));
                LIB_OK(culv_ring_destroy(&t.ring, NULL));
            }
            LIB_OK(try_ring(&t, CULV_GL_WAY_NONE, (culv_ring_side)side, 3, r->image,
                            CULV_FALLBACK_HOST));
            REQUIRE_EQ(info_of(t.ring).way, r->way);
            REQUIRE(r->way != CULV_GL_WAY_MEMORY || info_of(t.ring).waits_on_host);
            for (int k = 0; k < 2; k++)
                if (strstr(info_of(t.ring).refusals, r->says[k]) == NULL)
                    FAIL("'%s' is not in: %s", r->says[k], info_of(t.ring).refusals);
            begin_turns(&t);
            flow(&t, 11, 3);
            end_turns(&t);
            gl_stage_close(&t.s);
        }
    }
}

/* No Vulkan device exports anything: the ring goes on without one. */
TEST(without_vulkan, .own = true)
{
    const uint32_t fallbacks[] = {0, CULV_FALLBACK_HOST};
    for (int i = 0; i < 2; i++) {
        turns t = {.ring = NULL};
        gl_stage_open(&t.s, 0);
        setenv("VK_DRIVER_FILES", "/nowhere.json", 1);
        setenv("VK_ICD_FILENAMES", "/nowhere.json", 1);
        const texels *image = i == 0 ? &plain : &flat;
        LIB_OK(try_ring(&t, CULV_GL_WAY_NONE, CULV_RING_CONSUMER, 3, image, fallbacks[i]));
        REQUIRE_EQ(info_of(t.ring).way, i == 0 ? CULV_GL_WAY_REGISTER : CULV_GL_WAY_STAGED);
        printf("%s", info_of(t.ring).refusals);
        begin_turns(&t);
        flow(&t, 8, 3);
        end_turns(&t);
        gl_stage_close(&t.s);
    }
}

/* Calls ---------------------------------------------------------------------------------------- */

/* Two frames in one object. */
static void refuse_twice(turns *t, const culv_gl_ring_desc *d, const char *says)
{
    LIB_INVALID(culv_gl_ring_create(t->s.attachment, d, &t->ring), VALUE, says);
    REQUIRE(t->ring == NULL);
}

/* Objects of the caller's own, in each way that they have. */
TEST(own_objects)
{
    enum { DEPTH = 2 };
    turns t = {.ring = NULL, .image = &plain};
    culv_shared_buffer *buffers[DEPTH];
    culv_shared_image *images[DEPTH];
    culv_registration *registrations[2][DEPTH];
    GLuint names[DEPTH], textures[DEPTH];
    culv_gl_ring_desc d = culv_gl_ring_desc_init();
    const culv_gl_buffer_create_desc b = buffer_desc(0);
    const culv_gl_image_create_desc im = image_desc(&plain);
    gl_stage_open(&t.s, 0);
    t.s.gl.CreateBuffers(DEPTH, names);
    t.s.gl.CreateTextures(GL_TEXTURE_2D, DEPTH, textures);
    for (int i = 0; i < DEPTH; i++) {
        LIB_OK(culv_gl_buffer_create(t.s.attachment, &b, &buffers[i]));
        LIB_OK(culv_gl_image_create(t.s.attachment, &im, &images[i]));
        t.s.gl.NamedBufferData(names[i], BYTES, NULL, GL_DYNAMIC_DRAW);
        t.s.gl.TextureStorage2D(textures[i], 1, GL_R32F, WIDTH, HEIGHT);
        LIB_OK(culv_gl_register_buffer(t.s.attachment, names[i], NULL, &registrations[0][i]));
        LIB_OK(culv_gl_register_image(t.s.attachment, textures[i], GL_TEXTURE_2D, NULL,
                                      &registrations[1][i]));
    }
    culv_gl_ring_resource resources[2] = {{.buffers = buffers}, {.images = images}};
    d.max_depth = DEPTH;
    d.resources = resources;
    d.num_resources = 2;
    t.cuda = CULV_RING_PRODUCER;
    t.gl = CULV_RING_CONSUMER;
    culv_shared_image *image = images[1];
    images[1] = images[0];
    refuse_twice(&t, &d, "resources[1] has for slot 1 what resources[1] has for slot 0");
    images[1] = image;
    LIB_OK(culv_gl_ring_create(t.s.attachment, &d, &t.ring));
    REQUIRE_EQ(info_of(t.ring).way, CULV_GL_WAY_MEMORY);
    REQUIRE_EQ(culv_gl_ring_name(t.ring, 1, 0), culv_gl_buffer_name(buffers[1]));
    begin_turns(&t);
    flow(&t, 5, DEPTH);
    end_turns(&t);

    resources[1] = (culv_gl_ring_resource){.registrations = registrations[1]};
    LIB_INVALID(culv_gl_ring_create(t.s.attachment, &d, &t.ring), VALUE,
                "resources[1] and those before it have no way in common");
    resources[0] = (culv_gl_ring_resource){.registrations = registrations[0]};
    d.way = CULV_GL_WAY_MEMORY;
    LIB_INVALID(culv_gl_ring_create(t.s.attachment, &d, &t.ring), VALUE,
                "way is MEMORY, which its resources do not have");
    d.way = CULV_GL_WAY_NONE;
    LIB_OK(culv_registration_map(&registrations[0][1], 1, t.s.stream));
    LIB_INVALID(culv_gl_ring_create(t.s.attachment, &d, &t.ring), MAPPED);
    LIB_OK(culv_registration_unmap(&registrations[0][1], 1, t.s.stream));
    culv_registration *registration = registrations[0][1];
    registrations[0][1] = registrations[0][0];
    refuse_twice(&t, &d, "resources[0] has for slot 1 what resources[0] has for slot 0");
    registrations[0][1] = registration;
    LIB_OK(culv_gl_ring_create(t.s.attachment, &d, &t.ring));
    REQUIRE_EQ(info_of(t.ring).way, CULV_GL_WAY_REGISTER);
    REQUIRE_EQ(culv_gl_ring_name(t.ring, 1, 0), names[1]);
    REQUIRE_EQ(culv_gl_ring_name(t.ring, 0, 1), textures[0]);
    begin_turns(&t);
    flow(&t, 5, DEPTH);
    end_turns(&t);
    for (int i = 0; i < DEPTH; i++) {
        LIB_OK(culv_registration_destroy(&registrations[0][i]));
        LIB_OK(culv_registration_destroy(&registrations[1][i]));
        LIB_OK(culv_shared_buffer_destroy(&buffers[i], NULL));
        LIB_OK(culv_shared_image_destroy(&images[i], NULL));
    }
    t.s.gl.DeleteBuffers(DEPTH, names);
    t.s.gl.DeleteTextures(DEPTH, textures);
    gl_stage_close(&t.s);
}

TEST(wrong_calls)
{
    static const struct {
        culv_gl_way way;
        uint32_t resources;
        const char *says;
    } rows[] = {
        {(culv_gl_way)4, 1, "way is 4, which is not a culv_gl_way"},
        {CULV_GL_WAY_REGISTER, 0, "way is REGISTER, which its resources"},
        {CULV_GL_WAY_NONE, 2, "resources[1] must have exactly one of"},
    };
    turns t = {.ring = NULL};
    culv_ring_frame f;
    const culv_gl_buffer_create_desc b = buffer_desc(0);
    const culv_gl_ring_resource resources[17] = {{.buffer = &b}};
    culv_gl_ring_info info = culv_gl_ring_info_init();
    gl_stage_open(&t.s, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_gl_ring_desc d = culv_gl_ring_desc_init();
        d.way = rows[i].way;
        d.max_depth = 2;
        d.resources = resources;
        d.num_resources = rows[i].resources;
        LIB_INVALID(culv_gl_ring_create(t.s.attachment, &d, &t.ring), VALUE, rows[i].says);
        REQUIRE(t.ring == NULL);
    }
    LIB_OK(try_ring(&t, CULV_GL_WAY_REGISTER, CULV_RING_CONSUMER, 2, &plain, 0));
    REQUIRE_EQ(culv_gl_ring_name(t.ring, 2, 0), 0);
    REQUIRE_EQ(culv_gl_ring_name(t.ring, 0, 2), 0);
    LIB_INVALID(culv_gl_ring_get_info(NULL, &info), NULL_ARGUMENT);
    /* A part of the ring cannot be given up without the ring. */
    culv_image *image = culv_ring_image(t.ring, 1, 1), *const picture = image;
    REQUIRE(image != NULL);
    culv_image_unmap(&image, NULL);
    REQUIRE(image == picture);
    LIB_SAYS("culv_ring_destroy()");
    /* The capture goes on, and the slot is free again. */
    const raw_cuda *cu = t.s.cu;
    CUgraph graph = NULL;
    CUcontext before;
    CU_OK(cu->CtxPushCurrent(t.s.context));
    CU_OK(cu->StreamBeginCapture(t.s.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    LIB_INVALID(culv_ring_acquire_on(t.ring, t.cuda, t.s.stream, 0, &f), CAPTURE);
    CU_OK(cu->StreamEndCapture(t.s.stream, &graph));
    CU_OK(cu->GraphDestroy(graph));
    CU_OK(cu->CtxPopCurrent(&before));
    /* Both sides need a context here. Nothing is done without, and the frame stays. */
    raw_gl_current(&t.s.gl, NULL);
    LIB_INVALID(culv_ring_acquire_on(t.ring, t.cuda, t.s.stream, 0, &f), CONTEXT);
    LIB_INVALID(culv_ring_acquire(t.ring, CULV_RING_CONSUMER, 0, &f), CONTEXT);
    LIB_INVALID(culv_ring_destroy(&t.ring, NULL), CONTEXT);
    raw_gl_current(&t.s.gl, t.s.gl.context);
    LIB_OK(culv_ring_acquire_on(t.ring, t.cuda, t.s.stream, 0, &f));
    raw_gl_current(&t.s.gl, NULL);
    LIB_INVALID(culv_ring_release_on(t.ring, t.cuda, t.s.stream, &f), CONTEXT);
    raw_gl_current(&t.s.gl, t.s.gl.context);
    LIB_OK(culv_ring_release_on(t.ring, t.cuda, t.s.stream, &f));
    LIB_OK(culv_ring_destroy(&t.ring, NULL)); /* with a frame that nobody took */
    gl_stage_close(&t.s);
}
