/* SPDX-License-Identifier: MIT */
/* Contexts: none, one that shares objects, one that is gone; register.c has another one. */
#define TEST_GROUP "gl.context."
#include "gl/gl_check.h"
#include "gl/gl_core.h"
#include "gl/gl_numbers.h"
#include "gl_stage.h"

#include <GL/glext.h>
#include <pthread.h>

static culv_shared_buffer *make_buffer(culv_gl *gl, culv_result expected)
{
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *buffer = NULL;
    d.size = 4096;
    if (expected != CULV_OK)
        LIB_REFUSES_AS(buffer, culv_gl_buffer_create(gl, &d, &buffer), expected,
                       CULV_REASON_CONTEXT);
    else
        LIB_OK(culv_gl_buffer_create(gl, &d, &buffer));
    return buffer;
}

GL_CASE(no_context, 0, .title = "gl.context.none", .smoke = true)
{
    culv_device *device = NULL;
    culv_gl *gl = NULL;
    culv_gl_report report = culv_gl_report_init();
    culv_gl_desc d = gl_stage_desc(0);
    OWN(culv_shared_buffer) *buffer = make_buffer(s->attachment, CULV_OK);
    raw_gl_current(&s->gl, NULL);
    uint64_t calls = lying_gl_calls();
    REQUIRE(!culv_gl_is_current(s->attachment) && !culv_gl_is_current(NULL));
    LIB_REFUSES(device, culv_device_open_for_gl(&d, NULL, &device), INVALID, CONTEXT);
    LIB_REFUSES(gl, culv_gl_attach(s->device, &d, &gl), INVALID, CONTEXT);
    make_buffer(s->attachment, CULV_ERROR_INVALID);
    LIB_SAYS("no OpenGL context is current");
    LIB_INVALID(culv_shared_buffer_destroy(&buffer, NULL), CONTEXT);
    REQUIRE(buffer != NULL);
    LIB_OK(culv_gl_check_context(&d, s->device, &report));
    REQUIRE(report.way == CULV_GL_WAY_NONE && report.platform == CULV_GL_PLATFORM_NONE);
    REQUIRE_EQ(lying_gl_calls(), calls); /* nothing was done */
    raw_gl_current(&s->gl, s->gl.context);
}

typedef struct visitor {
    gl_stage *s;
    void *context;
    culv_shared_buffer *made, *taken;
} visitor;

/* The second thread of a program, with CUDA's work and a context that shares objects. */
static void *visit(void *argument)
{
    visitor *v = argument;
    uint32_t words[256];
    raw_gl_current(&v->s->gl, v->context);
    REQUIRE(culv_gl_is_current(v->s->attachment));
    v->made = make_buffer(v->s->attachment, CULV_OK);
    lib_fill(words, 256, 9);
    gl_stage_upload(v->s, culv_shared_buffer_pointer(v->made), words, sizeof words);
    v->s->gl.Finish();
    LIB_OK(culv_shared_buffer_destroy(&v->taken, NULL));
    raw_gl_current(&v->s->gl, NULL);
    return NULL;
}

GL_CASE(shared_context, 0, .title = "gl.context.shared")
{
    pthread_t thread;
    uint32_t words[256] = {0};
    visitor v = {s, raw_gl_another(&s->gl, true), NULL, make_buffer(s->attachment, CULV_OK)};
    REQUIRE(pthread_create(&thread, NULL, visit, &v) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE(v.taken == NULL);
    raw_gl_read_buffer(&s->gl, culv_gl_buffer_name(v.made), words, sizeof words);
    REQUIRE_WORDS(words, 256, 9);
    LIB_OK(culv_shared_buffer_destroy(&v.made, NULL));
    raw_gl_destroy(&s->gl, v.context);
}

/* The attached context goes, and one that shares objects with it serves on. */
GL_CASE(first_context_gone, 0, .title = "gl.context.first_gone")
{
    culv_shared_buffer *buffer = make_buffer(s->attachment, CULV_OK);
    void *view = raw_gl_another(&s->gl, true), *first = s->gl.context;
    raw_gl_current(&s->gl, view);
    raw_gl_destroy(&s->gl, first);
    s->gl.context = view;
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
    buffer = make_buffer(s->attachment, CULV_OK);
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
}

/* The program destroyed its context, with Culvert's objects in it. */
GL_CASE(gone_context, 0, .title = "gl.context.gone")
{
    culv_shared_buffer *buffer = make_buffer(s->attachment, CULV_OK);
    NEW(culv_shared_semaphore, semaphore, culv_gl_semaphore_create, s->attachment, NULL);
    raw_gl_current(&s->gl, NULL);
    raw_gl_destroy(&s->gl, s->gl.context);
    /* Whether the next one gets the same handle or not. */
    s->gl.context = NULL;
    s->gl.context = raw_gl_another(&s->gl, false);
    raw_gl_current(&s->gl, s->gl.context);
    make_buffer(s->attachment, CULV_ERROR_INVALID);
    LIB_INVALID(culv_shared_buffer_destroy(&buffer, NULL), CONTEXT);
    REQUIRE(buffer != NULL);
    lying_gl_counts counts = lying_gl_count();
    uint64_t calls = lying_gl_calls();
    culv_gl_lose_contexts(s->attachment);
    culv_gl_lose_contexts(NULL);
    make_buffer(s->attachment, CULV_ERROR_INVALID);
    LIB_SAYS("culv_gl_lose_contexts");
    raw_gl_current(&s->gl, NULL); /* no context is needed any more */
    LIB_OK(culv_shared_buffer_destroy(&buffer, NULL));
    LIB_OK(culv_shared_semaphore_destroy(&semaphore, NULL));
    REQUIRE(buffer == NULL && semaphore == NULL);
    culv_gl_detach(&s->attachment);
    REQUIRE_EQ(lying_gl_calls(), calls);
    s->before = counts; /* what went with the context */
    raw_gl_current(&s->gl, s->gl.context);
}

/* An error that the program left is told, and is none of Culvert's. */
GL_CASE(left_error, 0)
{
    s->gl.BindTexture(GL_ARRAY_BUFFER, 0); /* no target */
    OWN(culv_shared_buffer) *buffer = make_buffer(s->attachment, CULV_OK);
    REQUIRE(s->gl.GetError() == 0);
}

static const char *missing;

static void *without(const char *name)
{
    return missing != NULL && strcmp(name, missing) == 0 ? NULL : lying_gl_get_proc(name);
}

GL_CASE(attach_refused, 0)
{
    culv_gl *gl = NULL;
    culv_gl_desc d = gl_stage_desc(0);
    d.get_proc_address = without;
    static const char *const names[] = {"glGetError", "glFinish", "glCreateBuffers"};
    for (int i = 0; i < 3; i++) {
        missing = names[i];
        LIB_REFUSES_AS(gl, culv_gl_attach(s->device, &d, &gl),
                       i == 0 ? CULV_ERROR_INVALID : CULV_ERROR_UNSUPPORTED,
                       i == 0 ? CULV_REASON_VALUE : CULV_REASON_EXTENSION_MISSING);
    }
    missing = NULL;
    d.fallback = 8;
    LIB_REFUSES(gl, culv_gl_attach(s->device, &d, &gl), INVALID, VALUE);
}

#undef TEST_GROUP
#define TEST_GROUP "gl.check."
/* The check: what it says of machines that are not here, and of the one that is; the numbers of
 * OpenGL's headers. */

/* A machine: NAME=value of its environment and paths that exist, each list ended by NULL. */
typedef struct machine {
    const char *environment[4];
    const char *paths[4];
} machine;

static const char *variable(const void *user, const char *name)
{
    const machine *m = user;
    const size_t length = strlen(name);
    for (int i = 0; i < 4 && m->environment[i] != NULL; i++)
        if (strncmp(m->environment[i], name, length) == 0 && m->environment[i][length] == '=')
            return m->environment[i] + length + 1;
    return NULL;
}

static bool exists(const void *user, const char *path)
{
    const machine *m = user;
    for (int i = 0; i < 4 && m->paths[i] != NULL; i++)
        if (strcmp(m->paths[i], path) == 0) return true;
    return false;
}

typedef struct row {
    const char *name;
    machine machine;
    bool windows;
    culv_gl_platform platform;
    const char *renderer;
    bool software, nvidia, lacks_objects, no_semaphores, other_device, twin;
    const char *lacks;
    int32_t ordinal; /* -1: CUDA does not have the context's GPU */
    culv_gl_way way;
    culv_reason memory, registers;
    const char *says; /* what tells this machine from the others */
} row;

#define CARD "/dev/dri/renderD128", "/dev/nvidiactl"

/* CUDA does not have the context's GPU. The text comes next. */
#define NOT_THERE                                                                                  \
    .ordinal = -1, .way = CULV_GL_WAY_STAGED, .memory = CULV_REASON_DEVICE_UNKNOWN,                \
    .registers = CULV_REASON_DEVICE_UNKNOWN
#define NO_CONTEXT                                                                                 \
    .ordinal = -1, .way = CULV_GL_WAY_NONE, .memory = CULV_REASON_CONTEXT,                         \
    .registers = CULV_REASON_CONTEXT

#define PRIME "Run the program with __NV_PRIME_RENDER_OFFLOAD=1 __GLX_VENDOR_LIBRARY_NAME=nvidia.\n"

static const row rows[] = {
    TEST_ROW("nvidia", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_GLX, "NVIDIA H200", .nvidia = true,
             .way = CULV_GL_WAY_MEMORY,
             .says =
                 "It is CUDA device 0, 'GPU'.\nMemory objects work with semaphores on the GPU.\n"
                 "Registration (cuGraphicsGLRegisterBuffer) works.\n"),
    TEST_ROW("nvidia, old", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_GLX, "NVIDIA", .nvidia = true,
             .lacks_objects = true, .way = CULV_GL_WAY_REGISTER,
             .memory = CULV_REASON_EXTENSION_MISSING, .says = "lacks GL_EXT_memory_object and its"),
    TEST_ROW("OpenGL ES", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "NVIDIA H200",
             .nvidia = true, .lacks = "desktop OpenGL: it is OpenGL ES", .way = CULV_GL_WAY_NONE,
             .memory = CULV_REASON_EXTENSION_MISSING, .registers = CULV_REASON_EXTENSION_MISSING,
             .says = "No way works: the context lacks desktop OpenGL: it is OpenGL ES, and "),
    TEST_ROW("the twin", {{NULL}, {NULL}}, false, CULV_GL_PLATFORM_EGL, "llvmpipe",
             .software = true, .no_semaphores = true, .twin = true, .way = CULV_GL_WAY_MEMORY,
             .says = "there is no GL_EXT_semaphore, so the CPU waits for either side."),
    TEST_ROW("no context", {{"DISPLAY=:0"}, {CARD}}, false, CULV_GL_PLATFORM_NONE, "", NO_CONTEXT,
             .says = "or give that thread a context that shares objects with it."),
    TEST_ROW("no context, no display", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_NONE, "",
             NO_CONTEXT,
             .says = "(DISPLAY and WAYLAND_DISPLAY are unset). Make a context by EGL: "),
    TEST_ROW("PRIME, llvmpipe", {{"DISPLAY=:0"}, {CARD}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe (LLVM)", .software = true, NOT_THERE, PRIME),
    TEST_ROW("PRIME, Intel", {{"DISPLAY=:0"}, {CARD}}, false, CULV_GL_PLATFORM_GLX,
             "Mesa Intel(R) UHD", NOT_THERE,
             "is no NVIDIA GPU: CUDA cannot reach its memory.\n" PRIME),
    TEST_ROW("EGL, Intel", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "Mesa Intel(R) UHD",
             NOT_THERE, "Let EGL take NVIDIA's device: eglQueryDevicesEXT and "),
    TEST_ROW("asked for software", {{"LIBGL_ALWAYS_SOFTWARE=1"}, {CARD}}, false,
             CULV_GL_PLATFORM_GLX, "llvmpipe", .software = true, NOT_THERE,
             "LIBGL_ALWAYS_SOFTWARE=1 asks for that. Unset it.\n"),
    TEST_ROW("WSL2, llvmpipe", {{"DISPLAY=:0"}, {"/dev/dxg"}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe", .software = true, NOT_THERE,
             "This is WSL2 (/dev/dxg): its OpenGL shares nothing with CUDA. "),
    TEST_ROW("WSL2, D3D12", {{"DISPLAY=:0"}, {"/dev/dxg"}}, false, CULV_GL_PLATFORM_GLX,
             "D3D12 (NVIDIA GeForce)", NOT_THERE,
             "its OpenGL ('D3D12 (NVIDIA GeForce)') shares nothing with CUDA. "),
    TEST_ROW("container", {{NULL}, {NULL}}, false, CULV_GL_PLATFORM_EGL, "llvmpipe",
             .software = true, NOT_THERE,
             "this machine or container was given no GPU (docker run "),
    TEST_ROW("no /dev/dri", {{"DISPLAY=:0"}, {"/dev/nvidiactl"}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe", .software = true, NOT_THERE,
             "There is no /dev/dri, so Mesa cannot reach the GPU. " PRIME),
    TEST_ROW("xrdp", {{"DISPLAY=:10", "XRDP_SESSION=1"}, {CARD}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe", .software = true, NOT_THERE, "VirtualGL's EGL back end: vglrun -d egl "),
    TEST_ROW("RDP", {{"SESSIONNAME=RDP-Tcp#3"}, {NULL}}, true, CULV_GL_PLATFORM_WGL, "GDI Generic",
             .software = true, NOT_THERE, "(RDP), which draws without the GPU. Start the program "),
    TEST_ROW("VirtualGL", {{"VGL_ISACTIVE=1", "VGL_DISPLAY=egl"}, {CARD}}, false,
             CULV_GL_PLATFORM_GLX, "NVIDIA", .nvidia = true, .way = CULV_GL_WAY_MEMORY,
             .registers = CULV_REASON_CONTEXT, .says = "(VGL_DISPLAY=egl) hides the driver's "),
    TEST_ROW("PyOpenGL", {{"DISPLAY=:0", "PYOPENGL_PLATFORM=osmesa"}, {CARD}}, false,
             CULV_GL_PLATFORM_GLX, "llvmpipe", .software = true, NOT_THERE,
             PRIME "PYOPENGL_PLATFORM=osmesa draws on the CPU. Set PYOPENGL_PLATFORM=egl for "),
    TEST_ROW("another device", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "NVIDIA",
             .nvidia = true, .other_device = true, .way = CULV_GL_WAY_STAGED,
             .memory = CULV_REASON_DEVICE_MISMATCH, .registers = CULV_REASON_DEVICE_MISMATCH,
             .says = "The culv_device 'other GPU' is another GPU. Open the context's by "),
    TEST_ROW("hidden", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "NVIDIA", .nvidia = true,
             NOT_THERE, "CUDA does not show the GPU that draws it: look at CUDA_VISIBLE_DEVICES"),
};

TEST(texts, .smoke = true)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
        const culvi_gl_world world = {variable, exists, r->windows, &r->machine};
        const culvi_gl_facts facts = {.nvidia = r->nvidia,
                                      .num_cuda = 1,
                                      .twin = r->twin,
                                      .lacks = r->lacks,
                                      .other_device = r->other_device,
                                      .device_name = "other GPU",
                                      .registers = true};
        culv_gl_report report = {.platform = r->platform,
                                 .is_software = r->software,
                                 .cuda_ordinal = r->ordinal,
                                 .has_direct_state_access = true,
                                 .has_memory_object = !r->lacks_objects,
                                 .has_semaphore = !r->no_semaphores,
                                 .has_timeline_semaphore = !r->no_semaphores};
        snprintf(report.renderer, sizeof report.renderer, "%s", r->renderer);
        snprintf(report.vendor, sizeof report.vendor, "vendor");
        snprintf(report.cuda_name, sizeof report.cuda_name, "GPU");
        culvi_gl_judge(&report, &facts, &world);
        const bool drawn = r->platform != CULV_GL_PLATFORM_NONE;
        if ((drawn && strstr(report.text, r->renderer) == NULL) ||
            strstr(report.text, r->says) == NULL ||
            (strstr(report.text, "this context draws on the CPU") != NULL) !=
                (r->software && !r->twin))
            FAIL("%s:\n%s\nnot\n%s", r->name, report.text, r->says);
        if (report.way != r->way || report.memory_reason != r->memory ||
            report.register_reason != r->registers)
            FAIL("%s: %s, %s, %s", r->name, culv_gl_way_name(report.way),
                 culv_reason_name(report.memory_reason), culv_reason_name(report.register_reason));
    }
}

/* What culv_gl_attach() refuses, the check does not recommend. */
TEST(agrees)
{
    static const int profiles[] = {RAW_GL_CORE, RAW_GL_ES};
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        raw_gl gl;
        culv_gl *attachment = NULL;
        culv_gl_report report = culv_gl_report_init();
        const raw_cuda *cu = lib_driver();
        culv_device_desc d = culv_device_desc_init();
        d.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
        raw_gl_open(&gl, cu->software, 0, profiles[i]);
        NEW(culv_device, device, culv_device_open_by_ordinal, 0, &d);
        LIB_OK(culv_gl_check_context(NULL, device, &report));
        const culv_result result = culv_gl_attach(device, NULL, &attachment);
        printf("%s: %s; %s", report.version, culv_result_name(result), report.text);
        REQUIRE_EQ(result == CULV_OK, profiles[i] == RAW_GL_CORE);
        REQUIRE_EQ(result == CULV_OK, report.way != CULV_GL_WAY_NONE);
        culv_gl_detach(&attachment);
        culv_device_close(&device);
        raw_gl_close(&gl);
    }
}

/* The machine that is here. */
GL_CASE(here, 0)
{
    culv_gl_report report = culv_gl_report_init();
    culv_gl_desc d = gl_stage_desc(0);
    LIB_OK(culv_gl_check_context(&d, s->device, &report));
    printf("%s", report.text);
    REQUIRE(report.platform == CULV_GL_PLATFORM_EGL);
    REQUIRE(report.way == CULV_GL_WAY_MEMORY && report.memory_reason == CULV_REASON_NONE);
    const culv_uuid uuid = lib_caps(s->device).uuid;
    REQUIRE(report.has_uuid && memcmp(&report.uuid, &uuid, sizeof uuid) == 0);
    REQUIRE(report.num_gpus == 1 && report.cuda_ordinal == 0);
    REQUIRE_EQ(report.is_software, s->cu->software);
    REQUIRE_EQ(report.has_semaphore, !s->cu->software);
    REQUIRE_EQ(report.has_timeline_semaphore, !s->cu->software);
    REQUIRE_EQ(report.devices_all, 1); /* cuGLGetDevices() */
    REQUIRE_EQ(report.devices_current_frame, 1);
    /* Of nobody's GPU. */
    lying_gl.uuid_xor = true;
    report = culv_gl_report_init();
    LIB_OK(culv_gl_check_context(&d, s->device, &report));
    REQUIRE(report.way == CULV_GL_WAY_STAGED && report.cuda_ordinal == -1);
    REQUIRE(report.memory_reason == CULV_REASON_DEVICE_MISMATCH);
    lying_gl = (lying_gl_lies){.hides = {"GL_EXT_memory_object_fd"}};
    report = culv_gl_report_init();
    LIB_OK(culv_gl_check_context(&d, NULL, &report));
    REQUIRE(!report.has_memory_object && report.memory_reason == CULV_REASON_EXTENSION_MISSING);
    report.struct_size = 0;
    LIB_INVALID(culv_gl_check_context(&d, NULL, &report), STRUCT_SIZE);
    REQUIRE(strcmp(culv_gl_way_name(CULV_GL_WAY_REGISTER), "REGISTER") == 0);
    REQUIRE(strcmp(culv_gl_way_name((culv_gl_way)99), "unknown") == 0);
}

/* A driver that draws on devices of high ordinals. */
static CUresult CUDAAPI list_devices(unsigned *count, CUdevice *devices, unsigned size, unsigned of)
{
    const CUdevice drawn_on[] = {0, 31, 32, 45};
    memcpy(devices, drawn_on, sizeof drawn_on);
    *count = 4;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI find_list(const char *name, void **out, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
    *out = (void *)(uintptr_t)list_devices;
    return CUDA_SUCCESS;
}

TEST(high_ordinals)
{
    const culvi_cuda cuda = {.get_proc = find_list, .kind = CULV_DRIVER_NVIDIA};
    for (int32_t i = 0; i < 64; i++) {
        bool has = false;
        REQUIRE_EQ(culvi_gl_cuda_devices(&cuda, 1, i, &has), UINT32_C(0x80000001));
        REQUIRE_EQ(has, i == 0 || i == 31 || i == 32 || i == 45);
    }
}

/* Against glext.h and glcorearb.h. */
#define SAME(name) _Static_assert((int)CULVI_GL_##name == GL_##name, #name)
#undef SAME

#undef TEST_GROUP
#define TEST_GROUP "gl.semaphores."
/* Semaphores: the two sides in turn, with the data that each hands over; and refusals. */

enum { WORDS = 4096, BYTES = 4 * WORDS, FRAMES = 100 };
static uint32_t words[WORDS];

static culv_shared_buffer *semaphores_make_buffer(const gl_stage *s)
{
    culv_gl_buffer_create_desc d = culv_gl_buffer_create_desc_init();
    d.size = BYTES;
    NEW(culv_shared_buffer, buffer, culv_gl_buffer_create, s->attachment, &d);
    return buffer;
}

static void CUDA_CB held(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

/* A wait on the CPU ends with its time, changes nothing, and can be repeated. A wait on the GPU
 * does not make the host wait. */
static void wait_for_held(const gl_stage *s, culv_shared_semaphore *to_gl, uint64_t value,
                          const culv_gl_uses *uses)
{
    for (uint64_t timeout = 0; s->cu->software && timeout <= 2000000; timeout += 1000000) {
        LIB_ERROR(culv_gl_semaphore_wait(to_gl, value, timeout, uses), TIMEOUT, NOT_READY,
                  "CUDA has signaled or promised");
    }
    if (!s->cu->software) LIB_OK(culv_gl_semaphore_wait(to_gl, value, 0, uses));
}

/* CUDA writes `a`, signals; OpenGL waits, copies it to `b`, signals; CUDA waits, reads `b`. One
 * semaphore a direction. CUDA is late with the first frames of timelines. */
static void turns(culv_semaphore_type type)
{
    gl_stage s;
    CUcontext before;
    culv_shared_semaphore *to_gl = NULL;
    culv_gl_semaphore_create_desc d = culv_gl_semaphore_create_desc_init();
    gl_stage_open(&s, 0);
    d.type = type;
    culv_result result = culv_gl_semaphore_create(s.attachment, &d, &to_gl);
    if (type == CULV_SEMAPHORE_BINARY && result == CULV_ERROR_UNSUPPORTED) {
        LIB_SAYS("use a timeline");
        REQUIRE(s.cu->software && to_gl == NULL);
        gl_stage_close(&s);
        SKIP("no GL_EXT_semaphore here");
    }
    LIB_OK(result);
    NEW(culv_shared_semaphore, to_cuda, culv_gl_semaphore_create, s.attachment, &d);
    culv_shared_buffer *a = semaphores_make_buffer(&s), *b = semaphores_make_buffer(&s);
    const uint32_t names[2] = {culv_gl_buffer_name(a), culv_gl_buffer_name(b)};
    culv_gl_uses uses = culv_gl_uses_init();
    uses.num_buffers = 2;
    uses.buffers = names;
    const bool timeline = type == CULV_SEMAPHORE_TIMELINE;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    for (uint32_t frame = 1; frame <= FRAMES; frame++) {
        const uint64_t value = timeline ? frame : 0;
        const bool late = timeline && frame <= 3;
        CU_OK(s.cu->CtxPushCurrent(s.context));
        lib_fill(words, WORDS, frame);
        if (late) pthread_mutex_lock(&gate);
        if (late) CU_OK(s.cu->LaunchHostFunc(s.stream, held, &gate));
        CU_OK(s.cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(a), words, BYTES, s.stream));
        LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(to_gl), s.stream, value));
        if (late) wait_for_held(&s, to_gl, value, &uses);
        if (late) pthread_mutex_unlock(&gate);
        LIB_OK(culv_gl_semaphore_wait(to_gl, value, CULV_GL_FOREVER, &uses));
        GL_OK(&s.gl, s.gl.CopyNamedBufferSubData(names[0], names[1], 0, 0, BYTES));
        LIB_OK(culv_gl_semaphore_signal(to_cuda, value, &uses));
        LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(to_cuda), s.stream, value));
        CU_OK(s.cu->StreamSynchronize(s.stream)); /* before `words` is used again */
        memset(words, 0, sizeof words);
        CU_OK(s.cu->MemcpyDtoHAsync(words, culv_shared_buffer_pointer(b), BYTES, s.stream));
        CU_OK(s.cu->StreamSynchronize(s.stream));
        CU_OK(s.cu->CtxPopCurrent(&before));
        REQUIRE_WORDS(words, WORDS, frame);
    }
    LIB_OK(culv_shared_buffer_destroy(&a, NULL));
    LIB_OK(culv_shared_buffer_destroy(&b, NULL));
    s.gl.Finish();
    LIB_OK(culv_shared_semaphore_destroy(&to_gl, NULL));
    LIB_OK(culv_shared_semaphore_destroy(&to_cuda, &s.stream));
    gl_stage_close(&s);
}

TEST_AS(timelines, turns(CULV_SEMAPHORE_TIMELINE), .smoke = true)
TEST_AS(binaries, turns(CULV_SEMAPHORE_BINARY))

/* How much of `buffer` holds `frame`, as CUDA sees it while OpenGL still waits. */
static bool written(const gl_stage *s, culv_shared_buffer *buffer, CUstream stream, uint32_t frame)
{
    memset(words, 0, sizeof words);
    CU_OK_IN(s, s->cu->MemcpyDtoHAsync(words, culv_shared_buffer_pointer(buffer), 1004, stream));
    CU_OK_IN(s, s->cu->StreamSynchronize(stream));
    static uint32_t expected[251];
    lib_fill(expected, 251, frame);
    return memcmp(words, expected, sizeof expected) == 0;
}

/* A copy waits with OpenGL's queue; glNamedBufferSubData() of a few bytes does not on NVIDIA's
 * driver, as gl.md says. The value is signaled only after both have been looked at. */
GL_CASE(writes_behind_a_wait, 0)
{
    CUcontext before;
    CUstream beside = NULL;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    NEW(OWN(culv_shared_semaphore), to_gl, culv_gl_semaphore_create, s->attachment, NULL);
    if (s->cu->software) {
        LIB_OK(culv_shared_semaphore_destroy(&to_gl, NULL));
        SKIP("OpenGL waits on the CPU here");
    }
    OWN(culv_shared_buffer) *copied = semaphores_make_buffer(s), *poked = semaphores_make_buffer(s),
                            *own = semaphores_make_buffer(s);
    const uint32_t names[3] = {culv_gl_buffer_name(copied), culv_gl_buffer_name(poked),
                               culv_gl_buffer_name(own)};
    lib_fill(words, WORDS, 2);
    CU_OK(s->cu->CtxPushCurrent(s->context));
    CU_OK(s->cu->StreamCreate(&beside, CU_STREAM_NON_BLOCKING));
    CU_OK(s->cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(own), words, BYTES, beside));
    CU_OK(s->cu->StreamSynchronize(beside));
    lib_fill(words, WORDS, 1);
    CU_OK(s->cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(copied), words, BYTES, beside));
    CU_OK(s->cu->MemcpyHtoDAsync(culv_shared_buffer_pointer(poked), words, BYTES, beside));
    CU_OK(s->cu->StreamSynchronize(beside));
    pthread_mutex_lock(&gate);
    CU_OK(s->cu->LaunchHostFunc(s->stream, held, &gate));
    CU_OK(s->cu->CtxPopCurrent(&before));
    LIB_OK(culv_semaphore_signal(culv_shared_semaphore_cuda(to_gl), s->stream, 1));
    LIB_OK(culv_gl_semaphore_wait(to_gl, 1, CULV_GL_FOREVER, NULL));
    lib_fill(words, WORDS, 2);
    GL_OK(&s->gl, s->gl.NamedBufferSubData(names[1], 0, 1004, words));
    GL_OK(&s->gl, s->gl.CopyNamedBufferSubData(names[2], names[0], 0, 0, 1004));
    s->gl.Flush();
    bool early = false;
    for (int look = 0; look < 1000 && !early; look++)
        early = written(s, poked, beside, 2);
    const bool copy_early = !written(s, copied, beside, 1);
    pthread_mutex_unlock(&gate);
    s->gl.Finish();
    printf("glNamedBufferSubData waits: %s\n", early ? "no" : "yes");
    REQUIRE(!copy_early);
    REQUIRE(early || s->cu->software);
    REQUIRE(written(s, copied, beside, 2) && written(s, poked, beside, 2));
    gl_stage_finish(s);
    CU_OK_IN(s, s->cu->StreamDestroy(beside));
}

/* What CUDA has signaled, seen by OpenGL or not, or was told to signal. The one exception: CUDA
 * waits for the value itself before it signals more. */
TEST(backwards)
{
    enum { SIGNALED, PENDING, ANSWERS };
    for (int how = SIGNALED; how <= ANSWERS; how++) {
        gl_stage s;
        gl_stage_open(&s, 0);
        NEW(culv_shared_semaphore, semaphore, culv_gl_semaphore_create, s.attachment, NULL);
        NEW(culv_shared_semaphore, gate, culv_gl_semaphore_create, s.attachment, NULL);
        culv_semaphore *cuda = culv_shared_semaphore_cuda(semaphore);
        if (how == PENDING)
            LIB_OK(culv_semaphore_wait(culv_shared_semaphore_cuda(gate), s.stream, 1));
        if (how == ANSWERS) LIB_OK(culv_semaphore_wait(cuda, s.stream, 3));
        LIB_OK(culv_semaphore_signal(cuda, s.stream, 5));
        if (how == SIGNALED) gl_stage_finish(&s);
        if (how != ANSWERS) {
            LIB_INVALID(culv_gl_semaphore_signal(semaphore, 3, NULL), TIMELINE_BACKWARDS,
                        "the value 3 does not exceed 5, which was signaled or promised before");
            LIB_INVALID(culv_gl_semaphore_signal(semaphore, 5, NULL), TIMELINE_BACKWARDS);
        } else {
            LIB_INVALID(culv_gl_semaphore_signal(semaphore, 4, NULL), TIMELINE_BACKWARDS);
            LIB_OK(culv_gl_semaphore_signal(semaphore, 3, NULL));
        }
        LIB_OK(culv_gl_semaphore_signal(gate, 1, NULL));
        gl_stage_finish(&s);
        LIB_OK(culv_gl_semaphore_signal(semaphore, 6, NULL));
        LIB_OK(culv_gl_semaphore_wait(semaphore, 6, CULV_GL_FOREVER, NULL));
        s.gl.Finish();
        LIB_OK(culv_shared_semaphore_destroy(&semaphore, NULL));
        LIB_OK(culv_shared_semaphore_destroy(&gate, NULL));
        gl_stage_close(&s);
    }
}

GL_CASE(refused, 0)
{
    culv_gl_semaphore_create_desc d = culv_gl_semaphore_create_desc_init();
    culv_gl_uses uses = culv_gl_uses_init();
    d.initial_value = 5;
    NEW(OWN(culv_shared_semaphore), semaphore, culv_gl_semaphore_create, s->attachment, &d);
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 5, NULL), TIMELINE_BACKWARDS);
    LIB_OK(culv_gl_semaphore_signal(semaphore, 6, NULL));
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 6, NULL), TIMELINE_BACKWARDS);
    LIB_INVALID(culv_semaphore_signal(culv_shared_semaphore_cuda(semaphore), s->stream, 6),
                TIMELINE_BACKWARDS);
    uses.num_buffers = 1;
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 7, &uses), NULL_ARGUMENT);
    LIB_INVALID(culv_gl_semaphore_wait(semaphore, 6, 0, &uses), NULL_ARGUMENT);
    uint32_t many[65] = {0};
    uses = culv_gl_uses_init();
    uses.num_textures = 65;
    uses.textures = many;
    LIB_INVALID(culv_gl_semaphore_wait(semaphore, 6, 0, &uses), VALUE);
    LIB_OK(culv_gl_semaphore_wait(semaphore, 6, 0, NULL));
    culv_semaphore *half = culv_shared_semaphore_cuda(semaphore);
    culv_semaphore_destroy(&half, NULL); /* refused: both halves go together */
    REQUIRE(half != NULL);
    LIB_SAYS("culv_shared_semaphore_destroy");
    raw_gl_current(&s->gl, NULL);
    LIB_INVALID(culv_gl_semaphore_signal(semaphore, 8, NULL), CONTEXT);
    LIB_INVALID(culv_shared_semaphore_destroy(&semaphore, NULL), CONTEXT);
    raw_gl_current(&s->gl, s->gl.context);
    s->gl.Finish();
}
