/* SPDX-License-Identifier: MIT */
/* The check: what it says of machines that are not here, and of the one that is; the numbers of
 * OpenGL's headers. */
#define TEST_GROUP "gl.check."
#include "gl_stage.h"

#include "gl/gl_check.h"
#include "gl/gl_core.h"
#include "gl/gl_numbers.h"

#include <GL/glext.h>

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
    const char *says; /* the whole text behind its first line (all of it without a context) */
} row;

#define CARD "/dev/dri/renderD128", "/dev/nvidiactl"
#define SOFT                                                                                       \
    "llvmpipe renders: this context draws on the CPU, and CUDA's GPU has none of its memory "      \
    "(registration would fail with 304 or 999).\n"
/* CUDA does not have the context's GPU. The text comes next. */
#define NOT_THERE                                                                                  \
    .ordinal = -1, .way = CULV_GL_WAY_STAGED, .memory = CULV_REASON_DEVICE_UNKNOWN,                \
    .registers = CULV_REASON_DEVICE_UNKNOWN
#define PRIME "Run the program with __NV_PRIME_RENDER_OFFLOAD=1 __GLX_VENDOR_LIBRARY_NAME=nvidia.\n"
#define WSL   "Allow a fallback (CULV_FALLBACK_HOST), or run on Linux or Windows itself.\n"

static const row rows[] = {
    TEST_ROW("nvidia", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_GLX, "NVIDIA H200", .nvidia = true,
             .way = CULV_GL_WAY_MEMORY,
             .says =
                 "It is CUDA device 0, 'GPU'.\nMemory objects work with semaphores on the GPU.\n"
                 "Registration (cuGraphicsGLRegisterBuffer) works.\n"),
    TEST_ROW("nvidia, old", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_GLX, "NVIDIA", .nvidia = true,
             .lacks_objects = true, .way = CULV_GL_WAY_REGISTER,
             .memory = CULV_REASON_EXTENSION_MISSING,
             .says = "It is CUDA device 0, 'GPU'.\nMemory objects do not work: the context lacks "
                     "GL_EXT_memory_object and its handles.\n"
                     "Registration (cuGraphicsGLRegisterBuffer) works.\n"),
    TEST_ROW(
        "OpenGL ES", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "NVIDIA H200", .nvidia = true,
        .lacks = "desktop OpenGL: it is OpenGL ES", .way = CULV_GL_WAY_NONE,
        .memory = CULV_REASON_EXTENSION_MISSING, .registers = CULV_REASON_EXTENSION_MISSING,
        .says =
            "No way works: the context lacks desktop OpenGL: it is OpenGL ES, and culv_gl_attach() "
            "refuses it. Make one of OpenGL 4.5, or with GL_ARB_direct_state_access.\n"),
    TEST_ROW(
        "the twin", {{NULL}, {NULL}}, false, CULV_GL_PLATFORM_EGL, "llvmpipe", .software = true,
        .no_semaphores = true, .twin = true, .way = CULV_GL_WAY_MEMORY,
        .says =
            "It is CUDA device 0, 'GPU'.\nMemory objects work; there is no GL_EXT_semaphore, so "
            "the CPU waits for either side.\nRegistration (cuGraphicsGLRegisterBuffer) works.\n"),
    TEST_ROW(
        "no context", {{"DISPLAY=:0"}, {CARD}}, false, CULV_GL_PLATFORM_NONE, "", .ordinal = -1,
        .way = CULV_GL_WAY_NONE, .memory = CULV_REASON_CONTEXT, .registers = CULV_REASON_CONTEXT,
        .says = "No OpenGL context is current on this thread. Make it current on the thread that "
                "calls CUDA (eglMakeCurrent, glXMakeCurrent), or give that thread a context that "
                "shares objects with it.\n"),
    TEST_ROW(
        "no context, no display", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_NONE, "", .ordinal = -1,
        .way = CULV_GL_WAY_NONE, .memory = CULV_REASON_CONTEXT, .registers = CULV_REASON_CONTEXT,
        .says =
            "No OpenGL context is current on this thread. Make it current on the thread that "
            "calls CUDA (eglMakeCurrent, glXMakeCurrent), or give that thread a context that "
            "shares objects with it.\nThere is no display (DISPLAY and WAYLAND_DISPLAY are "
            "unset). Make a context by EGL: EGL_EXT_platform_device on NVIDIA's driver; in Python "
            "set PYOPENGL_PLATFORM=egl before the first import of OpenGL.\n"),
    TEST_ROW("PRIME, llvmpipe", {{"DISPLAY=:0"}, {CARD}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe (LLVM)", .software = true, NOT_THERE, SOFT PRIME),
    TEST_ROW("PRIME, Intel", {{"DISPLAY=:0"}, {CARD}}, false, CULV_GL_PLATFORM_GLX,
             "Mesa Intel(R) UHD", NOT_THERE,
             "'Mesa Intel(R) UHD' (vendor) draws, which is no NVIDIA GPU: CUDA cannot reach its "
             "memory.\n" PRIME),
    TEST_ROW(
        "EGL, Intel", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "Mesa Intel(R) UHD", NOT_THERE,
        "'Mesa Intel(R) UHD' (vendor) draws, which is no NVIDIA GPU: CUDA cannot reach its memory.\n"
        "Let EGL take NVIDIA's device: eglQueryDevicesEXT and EGL_EXT_platform_device "
        "(EGL_NV_device_cuda tells its CUDA ordinal), or set "
        "__EGL_VENDOR_LIBRARY_FILENAMES=/usr/share/glvnd/egl_vendor.d/10_nvidia.json.\n"),
    TEST_ROW("asked for software", {{"LIBGL_ALWAYS_SOFTWARE=1"}, {CARD}}, false,
             CULV_GL_PLATFORM_GLX, "llvmpipe", .software = true, NOT_THERE,
             SOFT "LIBGL_ALWAYS_SOFTWARE=1 asks for that. Unset it.\n"),
    TEST_ROW("WSL2, llvmpipe", {{"DISPLAY=:0"}, {"/dev/dxg"}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe", .software = true, NOT_THERE,
             SOFT "This is WSL2 (/dev/dxg): its OpenGL shares nothing with CUDA. " WSL),
    TEST_ROW("WSL2, D3D12", {{"DISPLAY=:0"}, {"/dev/dxg"}}, false, CULV_GL_PLATFORM_GLX,
             "D3D12 (NVIDIA GeForce)", NOT_THERE,
             "This is WSL2 (/dev/dxg): its OpenGL ('D3D12 (NVIDIA GeForce)') shares nothing with "
             "CUDA. " WSL),
    TEST_ROW(
        "container", {{NULL}, {NULL}}, false, CULV_GL_PLATFORM_EGL, "llvmpipe", .software = true,
        NOT_THERE,
        SOFT
        "There is no /dev/dri and no /dev/nvidiactl: this machine or container was given no GPU "
        "(docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility).\n"),
    TEST_ROW("no /dev/dri", {{"DISPLAY=:0"}, {"/dev/nvidiactl"}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe", .software = true, NOT_THERE,
             SOFT "There is no /dev/dri, so Mesa cannot reach the GPU. " PRIME),
    TEST_ROW("xrdp", {{"DISPLAY=:10", "XRDP_SESSION=1"}, {CARD}}, false, CULV_GL_PLATFORM_GLX,
             "llvmpipe", .software = true, NOT_THERE,
             SOFT
             "This is a remote desktop (xrdp), whose X server draws on the CPU. Run the program by "
             "VirtualGL's EGL back end: vglrun -d egl PROGRAM.\n"),
    TEST_ROW(
        "RDP", {{"SESSIONNAME=RDP-Tcp#3"}, {NULL}}, true, CULV_GL_PLATFORM_WGL, "GDI Generic",
        .software = true, NOT_THERE,
        "GDI Generic renders: this context draws on the CPU, and CUDA's GPU has none of its memory "
        "(registration would fail with 304 or 999).\nThis is a remote desktop (RDP), which draws "
        "without the GPU. Start the program on the console's session.\n"),
    TEST_ROW(
        "VirtualGL", {{"VGL_ISACTIVE=1", "VGL_DISPLAY=egl"}, {CARD}}, false, CULV_GL_PLATFORM_GLX,
        "NVIDIA", .nvidia = true, .way = CULV_GL_WAY_MEMORY, .registers = CULV_REASON_CONTEXT,
        .says = "It is CUDA device 0, 'GPU'.\nVirtualGL's EGL back end (VGL_DISPLAY=egl) hides the "
                "driver's context: registration fails with 999 there. Use memory objects, or "
                "VirtualGL's GLX back end (vglrun -d :0).\n"
                "Memory objects work with semaphores on the GPU.\n"),
    TEST_ROW("PyOpenGL", {{"DISPLAY=:0", "PYOPENGL_PLATFORM=osmesa"}, {CARD}}, false,
             CULV_GL_PLATFORM_GLX, "llvmpipe", .software = true, NOT_THERE,
             SOFT PRIME
             "PYOPENGL_PLATFORM=osmesa draws on the CPU. Set PYOPENGL_PLATFORM=egl for a "
             "context without a window.\n"),
    TEST_ROW("another device", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "NVIDIA",
             .nvidia = true, .other_device = true, .way = CULV_GL_WAY_STAGED,
             .memory = CULV_REASON_DEVICE_MISMATCH, .registers = CULV_REASON_DEVICE_MISMATCH,
             .says = "The culv_device 'other GPU' is another GPU. Open the context's by "
                     "culv_device_open_for_gl(), or allow a fallback.\n"),
    TEST_ROW(
        "hidden", {{NULL}, {CARD}}, false, CULV_GL_PLATFORM_EGL, "NVIDIA", .nvidia = true,
        NOT_THERE,
        "CUDA does not show the GPU that draws it: look at CUDA_VISIBLE_DEVICES and at MIG mode.\n"),
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
        const char *text = report.text;
        if (r->platform != CULV_GL_PLATFORM_NONE) {
            text = strchr(text, '\n');
            REQUIRE(text != NULL && strstr(report.text, r->renderer) != NULL);
            text++;
        }
        if (strcmp(text, r->says) != 0) FAIL("%s:\n%s\nnot\n%s", r->name, text, r->says);
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
        culv_device *device = NULL;
        culv_gl_report report = culv_gl_report_init();
        const raw_cuda *cu = lib_driver();
        culv_device_desc d = culv_device_desc_init();
        d.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
        raw_gl_open(&gl, cu->software, 0, profiles[i]);
        LIB_OK(culv_device_open_by_ordinal(0, &d, &device));
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

/* Against glext.h and glcorearb.h. */
TEST(numbers, .title = "gl.numbers")
{
    struct {
        const char *name;
        uint32_t mine, theirs;
    } table[] = {
        {"DEVICE_UUID", CULVI_GL_DEVICE_UUID_EXT, GL_DEVICE_UUID_EXT},
        {"DRIVER_UUID", CULVI_GL_DRIVER_UUID_EXT, GL_DRIVER_UUID_EXT},
        {"NUM_DEVICE_UUIDS", CULVI_GL_NUM_DEVICE_UUIDS_EXT, GL_NUM_DEVICE_UUIDS_EXT},
        {"DEVICE_LUID", CULVI_GL_DEVICE_LUID_EXT, GL_DEVICE_LUID_EXT},
        {"DEVICE_NODE_MASK", CULVI_GL_DEVICE_NODE_MASK_EXT, GL_DEVICE_NODE_MASK_EXT},
        {"TEXTURE_TILING", CULVI_GL_TEXTURE_TILING_EXT, GL_TEXTURE_TILING_EXT},
        {"DEDICATED", CULVI_GL_DEDICATED_MEMORY_OBJECT_EXT, GL_DEDICATED_MEMORY_OBJECT_EXT},
        {"OPTIMAL", CULVI_GL_OPTIMAL_TILING_EXT, GL_OPTIMAL_TILING_EXT},
        {"LINEAR", CULVI_GL_LINEAR_TILING_EXT, GL_LINEAR_TILING_EXT},
        {"GENERAL", CULVI_GL_LAYOUT_GENERAL_EXT, GL_LAYOUT_GENERAL_EXT},
        {"SEMAPHORE_TYPE", CULVI_GL_SEMAPHORE_TYPE_NV, GL_SEMAPHORE_TYPE_NV},
        {"BINARY", CULVI_GL_SEMAPHORE_TYPE_BINARY_NV, GL_SEMAPHORE_TYPE_BINARY_NV},
        {"TIMELINE", CULVI_GL_SEMAPHORE_TYPE_TIMELINE_NV, GL_SEMAPHORE_TYPE_TIMELINE_NV},
        {"TIMELINE_VALUE", CULVI_GL_TIMELINE_SEMAPHORE_VALUE_NV, GL_TIMELINE_SEMAPHORE_VALUE_NV},
        {"BUFFER_SIZE", CULVI_GL_BUFFER_SIZE, GL_BUFFER_SIZE},
        {"IMMUTABLE_STORAGE", CULVI_GL_BUFFER_IMMUTABLE_STORAGE, GL_BUFFER_IMMUTABLE_STORAGE},
        {"IMMUTABLE_FORMAT", CULVI_GL_TEXTURE_IMMUTABLE_FORMAT, GL_TEXTURE_IMMUTABLE_FORMAT},
        {"R32UI", CULVI_GL_R32UI, GL_R32UI},
        {"RED_INTEGER", CULVI_GL_RED_INTEGER, GL_RED_INTEGER},
        {"CUBE_MAP_ARRAY", CULVI_GL_TEXTURE_CUBE_MAP_ARRAY, GL_TEXTURE_CUBE_MAP_ARRAY},
        {"PACK_SKIP_IMAGES", CULVI_GL_PACK_SKIP_IMAGES, GL_PACK_SKIP_IMAGES},
        {"UNPACK_IMAGE_HEIGHT", CULVI_GL_UNPACK_IMAGE_HEIGHT, GL_UNPACK_IMAGE_HEIGHT},
        {"PACK_BUFFER", CULVI_GL_PIXEL_PACK_BUFFER_BINDING, GL_PIXEL_PACK_BUFFER_BINDING},
        {"UNPACK_BUFFER", CULVI_GL_PIXEL_UNPACK_BUFFER_BINDING, GL_PIXEL_UNPACK_BUFFER_BINDING},
        {"CONTEXT_LOST", CULVI_GL_CONTEXT_LOST, GL_CONTEXT_LOST},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].mine != table[i].theirs)
            FAIL("%s is %#x, not %#x", table[i].name, (unsigned)table[i].mine,
                 (unsigned)table[i].theirs);
}

/* A driver that draws on devices of high ordinals. */
static CUresult CUDAAPI list_devices(unsigned *count, CUdevice *devices, unsigned size, unsigned of)
{
    static const CUdevice drawn_on[] = {0, 31, 32, 45};
    REQUIRE(of == 1 && size >= 4);
    memcpy(devices, drawn_on, sizeof drawn_on);
    *count = 4;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI find_list(const char *name, void **out, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
    CUresult(CUDAAPI * found)(unsigned *, CUdevice *, unsigned, unsigned) = list_devices;
    (void)version;
    (void)flags;
    REQUIRE(strcmp(name, "cuGLGetDevices") == 0);
    memcpy(out, &found, sizeof found);
    if (status != NULL) *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}

TEST(high_ordinals)
{
    static const struct {
        int32_t ordinal;
        bool has;
    } asked[] = {{0, true},  {1, false},  {13, false}, {31, true},
                 {32, true}, {33, false}, {45, true}};
    const culvi_cuda cuda = {.get_proc = find_list, .kind = CULV_DRIVER_NVIDIA};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        bool has = !asked[i].has;
        REQUIRE_EQ(culvi_gl_cuda_devices(&cuda, 1, asked[i].ordinal, &has), UINT32_C(0x80000001));
        if (has != asked[i].has) FAIL("device %d is told wrong", asked[i].ordinal);
    }
}
