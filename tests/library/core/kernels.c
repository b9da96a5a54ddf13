/* SPDX-License-Identifier: MIT */
/* culvert/kernel.h: files of kernels, kernels by name, launches; and what is said of a wrong
 * one. */
#define TEST_GROUP "kernels."
#include "library.h"

#include <unistd.h>

typedef struct stage {
    lib_world w;
    CUstream stream;
    culv_kernels *kernels;
    char share[TEST_PATH_MAX];
} stage;

static void stage_open(stage *s)
{
    memset(s, 0, sizeof *s);
    lib_open(&s->w);
    s->stream = lib_stream(&s->w);
    test_path(s->share, "share/culvert");
    if (!s->w.cu->software) {
        char fatbin[TEST_PATH_MAX + 32];
        snprintf(fatbin, sizeof fatbin, "%s/block_kernels.fatbin", s->share);
        if (access(fatbin, R_OK) != 0) SKIP("no kernels for NVIDIA devices were built");
    }
    LIB_OK(culv_kernels_load(s->w.device, s->share, "block_kernels", &s->kernels));
}

static void stage_close(stage *s)
{
    culv_kernels_unload(&s->kernels);
    REQUIRE(s->kernels == NULL);
    lib_stream_destroy(&s->w, s->stream);
    lib_close(&s->w);
}

#define STAGE_CASE(...) TEST_ON(stage, s, stage_open(s), stage_close(s), __VA_ARGS__)

static CUdeviceptr alloc(const stage *s, size_t size)
{
    CUdeviceptr memory = 0;
    LIB_CU_OK(&s->w, s->w.cu->MemAlloc(&memory, size));
    return memory;
}

/* Of the stream's work so far; gives the memory back. */
static void take(const stage *s, CUdeviceptr memory, void *to, size_t size)
{
    lib_finish(&s->w, s->stream);
    LIB_CU_OK(&s->w, s->w.cu->MemcpyDtoH(to, memory, size));
    LIB_CU_OK(&s->w, s->w.cu->MemFree(memory));
}

static culv_kernel *get(const stage *s, const char *name)
{
    NEW(culv_kernel, kernel, culv_kernels_get, s->kernels, name);
    return kernel;
}

STAGE_CASE(launched, .smoke = true)
{
    enum { COUNT = 1000, BLOCK = 96 };
    static int out[COUNT];
    int n = 40;
    culv_kernel *leave = get(s, "block_leave");
    REQUIRE(get(s, "block_leave") == leave);
    REQUIRE(culv_kernel_native_handle(leave) != NULL);
    REQUIRE(culv_kernel_native_handle(NULL) == NULL);

    culv_launch_desc d = culv_launch_1d(COUNT, BLOCK, s->stream);
    REQUIRE_EQ(d.grid[0], 11);
    REQUIRE_EQ(culv_launch_1d(COUNT, 100, NULL).grid[0], 10);
    REQUIRE_EQ(culv_launch_1d(UINT64_MAX, 1, NULL).grid[0], UINT32_MAX);
    REQUIRE_EQ(culv_launch_2d(33, 64, 32, 8, NULL).grid[0], 2);
    REQUIRE_EQ(culv_launch_2d(33, 64, 32, 8, NULL).grid[1], 8);
    d.grid[0] = COUNT / BLOCK; /* whole blocks */
    CUdeviceptr to = alloc(s, sizeof out);
    LIB_OK(CULV_LAUNCH(leave, &d, CULV_ARG(to), CULV_ARG(n)));
    take(s, to, out, sizeof out);
    for (int i = 0; i < COUNT / BLOCK * BLOCK; i++)
        if (i % BLOCK < n) REQUIRE_EQ(out[i], n * (n + 1) / 2);
}

/* More dynamic shared memory than is there without asking. */
STAGE_CASE(shared)
{
    enum { BYTES = 60000 };
    static unsigned char out[BYTES];
    int bytes = BYTES;
    unsigned seed = 3;
    culv_kernel *touch = get(s, "block_touch");
    culv_launch_desc d = culv_launch_desc_init();
    d.block[0] = 100;
    d.shared_bytes = BYTES;
    d.stream = s->stream;
    CUdeviceptr to = alloc(s, sizeof out);
    LIB_OK(CULV_LAUNCH(touch, &d, CULV_ARG(to), CULV_ARG(bytes), CULV_ARG(seed)));
    lib_finish(&s->w, s->stream);
    d.shared_bytes = 1 << 20;
    LIB_ERROR(CULV_LAUNCH(touch, &d, CULV_ARG(to), CULV_ARG(bytes), CULV_ARG(seed)), DRIVER, VALUE,
              "1048576 bytes of dynamic shared memory");
    take(s, to, out, sizeof out);
    for (unsigned i = 0; i < BYTES; i++) {
        unsigned at = BYTES - 1 - i;
        REQUIRE_EQ(out[i], (unsigned char)(at * 7 + seed + (at & 3)));
    }
}

static bool tells_params(const stage *s)
{
    return culv_device_cuda_proc(s->w.device, "cuFuncGetParamInfo", 12040) != NULL;
}

STAGE_CASE(wrong_launches)
{
    int n = 4;
    double wide = 1.0;
    CUdeviceptr to = alloc(s, 4096);
    culv_kernel *leave = get(s, "block_leave"), *none = NULL;
    culv_launch_desc d = culv_launch_1d(4, 4, s->stream);
    const culv_kernel_arg missing[] = {CULV_ARG(to), {NULL, sizeof n}};
    static const culv_kernel_arg many[CULV_KERNEL_ARGS_MAX + 1];
    LIB_INVALID(culv_kernel_launch(leave, &d, NULL, 2), NULL_ARGUMENT);
    LIB_INVALID(culv_kernel_launch(leave, &d, missing, 2), NULL_ARGUMENT,
                "culv_kernel_launch: the value of argument 1 (0 is the first) is NULL");
    LIB_INVALID(culv_kernel_launch(leave, &d, many, CULV_KERNEL_ARGS_MAX + 1), VALUE);
    if (tells_params(s)) {
        LIB_INVALID(CULV_LAUNCH(leave, &d, CULV_ARG(to)), KERNEL,
                    "'block_leave' takes 2 arguments, and 1 were passed");
        LIB_INVALID(
            CULV_LAUNCH(leave, &d, CULV_ARG(to), CULV_ARG(wide)), KERNEL,
            "argument 1 (0 is the first) of the kernel 'block_leave' has 4 bytes, and 8 were passed");
    }
    d.struct_size = 1;
    LIB_INVALID(CULV_LAUNCH(leave, &d, CULV_ARG(to), CULV_ARG(n)), STRUCT_SIZE);
    d = culv_launch_1d(4, 2048, s->stream);
    LIB_ERROR(CULV_LAUNCH(leave, &d, CULV_ARG(to), CULV_ARG(n)), DRIVER, VALUE,
              "1 x 1 x 1 blocks of 2048 x 1 x 1 threads");

    LIB_REFUSES(none, culv_kernels_get(s->kernels, "block_suum", &none), INVALID, KERNEL,
                "there is no kernel 'block_suum' in the file");
    if (tells_params(s)) LIB_SAYS("'block_sum'");
    LIB_REFUSES(none, culv_kernels_get(s->kernels, NULL, &none), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_kernels_get(s->kernels, "block_sum", NULL), NULL_ARGUMENT);
    static unsigned char bytes[4096];
    take(s, to, bytes, sizeof bytes);
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    REQUIRE_EQ(fwrite(bytes, 1, size, file), size);
    REQUIRE_EQ(fclose(file), 0);
}

/* A file that is the other driver's, or nobody's. */
TEST(wrong_files)
{
    static const char fatbin[] = "\x50\xed\x55\xba\x01\x00\x10\x00 and so on, for a while",
                      ptx[] = "//\n// Generated\n.version 8.5\n.target sm_75\n",
                      cubin[64] = {127, 69, 76, 70, 2, 1, 1, [16] = 2, [18] = (char)190},
                      text[] = "This is no kernel.\n";
    stage s;
    culv_kernels *none = NULL;
    char directory[] = "/tmp/culvert-kernels-XXXXXX", path[64], other[64];
    stage_open(&s);
    culv_device *device = s.w.device;
    const bool soft = s.w.cu->software;
    REQUIRE(mkdtemp(directory) != NULL);
#define REFUSED(text)                                                                              \
    LIB_REFUSES(none, culv_kernels_load_file(device, path, NULL, &none), INVALID, MODULE, text,    \
                path)

    snprintf(path, sizeof path, "%s/file", directory);
    REFUSED("cannot be read");
    write_file(path, text, sizeof text);
    REFUSED(soft ? "nothing that Culvert knows" : "is no fatbin, no cubin and no PTX");
    if (soft) {
        write_file(path, fatbin, sizeof fatbin);
        REFUSED("is a fatbin");
        LIB_SAYS("software twin");
        write_file(path, ptx, sizeof ptx);
        REFUSED("is PTX");
        write_file(path, cubin, sizeof cubin);
        REFUSED("is a cubin");
#ifdef CULV_STATIC /* of a file that has no end only the beginning is read, into the second block */
        extern _Atomic long culvi_alloc_countdown;
        culvi_alloc_countdown = 3;
        LIB_REFUSES(none, culv_kernels_load_file(device, "/dev/zero", NULL, &none), INVALID, MODULE,
                    "nothing that Culvert knows");
        culvi_alloc_countdown = 0;
#endif
        /* A shared object of somebody's. */
        char library[TEST_PATH_MAX];
        test_path(library, "lib/libculvert-soft.so.0");
        LIB_REFUSES(none, culv_kernels_load_file(device, library, NULL, &none), INVALID, MODULE,
                    "without a list of kernels", "CULV_KERNELS(");
    }
    static char object[64] = {127, 69, 76, 70, 2, 1, 1, [16] = 3, [18] = 62};
    write_file(path, object, sizeof object);
    REFUSED(soft ? "cannot be opened by dlopen()" : "is a shared object for the CPU");

    /* The other driver's file is there, this one's is not. */
    snprintf(other, sizeof other, "%s/mine.%s", directory, soft ? "fatbin" : "soft.so");
    write_file(other, text, sizeof text);
    LIB_REFUSES(none, culv_kernels_load(device, directory, "mine", &none), INVALID, MODULE,
                soft ? "the .fatbin beside it is for NVIDIA devices"
                     : "the .soft.so beside it is for the software twin");
    LIB_REFUSES(none, culv_kernels_load(device, directory, "yours", &none), INVALID, MODULE,
                "yours.");
    LIB_REFUSES(none, culv_kernels_load(device, directory, "", &none), INVALID, VALUE);
    LIB_REFUSES(none, culv_kernels_load_file(device, directory, NULL, &none), INVALID, MODULE);
    REQUIRE(unlink(path) == 0 && unlink(other) == 0 && rmdir(directory) == 0);
    stage_close(&s);
#undef REFUSED
}

/* The kernels keep what they need of the device. */
TEST(device_first)
{
    stage s;
    stage_open(&s);
    culv_vk_detach(&s.w.attachment);
    lib_stream_destroy(&s.w, s.stream);
    culv_device_close(&s.w.device);
    NEW(culv_kernel, sum, culv_kernels_get, s.kernels, "block_sum");
    culv_kernels_unload(&s.kernels);
    lib_close(&s.w);
}

/* Programs ------------------------------------------------------------------------------------ */

typedef struct program {
    unsigned char *bytes;
    size_t size, section; /* where the section begins */
} program;

static void put(program *p, size_t at, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        p->bytes[at + i] = (unsigned char)(number >> 8 * i);
}

/* An ELF file with two sections, of names and of fatbinaries: `first` and the one after it, with a
 * gap between them. */
static program make_program(const void *first, size_t first_size, const void *second,
                            size_t second_size)
{
    static const char names[] = "\0.names\0.nv_fatbin";
    const size_t begin = 64 + 3 * 64 + 32, gap = (first_size + 7) / 8 * 8 + 16;
    program p = {calloc(1, begin + gap + second_size), begin + gap + second_size, begin};
    REQUIRE(p.bytes != NULL);
    memcpy(p.bytes, "\177ELF\2\1\1", 7);
    put(&p, 40, 64, 8);
    put(&p, 58, 64, 2);
    put(&p, 60, 3, 2);
    put(&p, 62, 1, 2);
    memcpy(p.bytes + 256, names, sizeof names);
    put(&p, 128, 1, 4);
    put(&p, 128 + 4, 3, 4);
    put(&p, 128 + 24, 256, 8);
    put(&p, 128 + 32, sizeof names, 8);
    put(&p, 192, 8, 4);
    put(&p, 192 + 4, 1, 4);
    put(&p, 192 + 24, begin, 8);
    put(&p, 192 + 32, gap + second_size, 8);
    memcpy(p.bytes + begin, first, first_size);
    memcpy(p.bytes + begin + gap, second, second_size);
    return p;
}

static void write_program(const program *p, size_t size, char path[TEST_PATH_MAX])
{
    strcpy(path, "/tmp/culvert-program-XXXXXX");
    const int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    REQUIRE_EQ(write(fd, p->bytes, size), size);
    REQUIRE_EQ(close(fd), 0);
}

/* A file that is cut short, at any place, or that is none, is refused. */
static void require_no_program(const stage *s, const program *p, size_t size, const char *says)
{
    culv_kernels *none = NULL;
    char path[TEST_PATH_MAX];
    write_program(p, size, path);
    LIB_REFUSES_AS(none, culv_kernels_load_file(s->w.device, path, "none", &none),
                   CULV_ERROR_INVALID, says != NULL ? CULV_REASON_KERNEL : CULV_REASON_MODULE,
                   says != NULL ? says : "");
    REQUIRE_EQ(unlink(path), 0);
}

STAGE_CASE(programs)
{
    static const unsigned char fatbin[24] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 8};
    culv_kernels *none = NULL;
    char path[TEST_PATH_MAX];
    program p = make_program(fatbin, 24, fatbin, 24);
    for (size_t size = 1; size < p.section + 24; size += 7)
        require_no_program(s, &p, size, NULL);
    if (s->w.cu->software) { /* which is not given what NVIDIA's driver might crash on */
        write_program(&p, p.size, path);
        LIB_REFUSES(none, culv_kernels_load_file(s->w.device, path, "none", &none), INVALID, MODULE,
                    "which runs a .soft.so alone");
        REQUIRE_EQ(unlink(path), 0);
    }
    /* Sizes and offsets that lie. */
    put(&p, p.section + 8, UINT64_MAX - 8, 8);
    require_no_program(s, &p, p.size, "none of the 0 fatbinaries");
    put(&p, p.section, 0x1234, 8);
    require_no_program(s, &p, p.size, "none of the 0 fatbinaries");
    put(&p, 192 + 24, UINT64_MAX - 4, 8);
    require_no_program(s, &p, p.size, NULL);
    put(&p, 62, 9, 2);
    require_no_program(s, &p, p.size, NULL);
    put(&p, 40, UINT64_MAX - 63, 8);
    require_no_program(s, &p, p.size, NULL);
    free(p.bytes);
    LIB_REFUSES(none, culv_kernels_load_file(s->w.device, "/nowhere/at/all", "none", &none),
                INVALID, MODULE, "cannot be read");

    /* The kernels of NVIDIA's file. */
    char real[TEST_PATH_MAX + 32];
    snprintf(real, sizeof real, "%s/block_kernels.fatbin", s->share);
    FILE *file = fopen(real, "rb");
    if (!s->w.cu->software) REQUIRE(file != NULL);
    static unsigned char image[1 << 22];
    const size_t size = file != NULL ? fread(image, 1, sizeof image, file) : 0;
    REQUIRE(size < sizeof image);
    if (file != NULL) fclose(file);
    if (size > 0 && !s->w.cu->software) {
        culv_kernel *kernel = NULL;
        p = make_program(image, size, image, size);
        require_no_program(s, &p, p.size, "has a kernel 'none'");
        write_program(&p, p.size, path);
        NEW(culv_kernels, kernels, culv_kernels_load_file, s->w.device, path, "block_leave");
        REQUIRE_EQ(unlink(path), 0);
        LIB_OK(culv_kernels_get(kernels, "block_leave", &kernel));
        REQUIRE(culv_kernel_native_handle(kernel) != NULL);
        REQUIRE(culv_kernel_native_handle(kernel) !=
                culv_kernel_native_handle(get(s, "block_leave")));
        culv_kernels_unload(&kernels);
        free(p.bytes);
    }
}
