/* SPDX-License-Identifier: MIT */
/* Tests of the sample ripple, run as its users run it. */
#define TEST_GROUP "ripple."
#include <math.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"
#include "run.h"

#define WIDTH  160u
#define HEIGHT 96u
/* Where many pictures are drawn. */
#define SMALL "--resolution", "64x40"

/* A small and short run (grid 64x48, picture 160x96, 7 frames), with `more` behind, which wins. */
static void ripple(run_result *out, const char *const *more)
{
    enum { MOST = 32 };
    const char *list[MOST + 1] = {"--device", run_device(), "--size", "64x48",        "--steps",
                                  "6",        "--frames",   "7",      "--resolution", "160x96"};
    for (size_t count = 10; *more; more++) {
        REQUIRE(count < MOST);
        list[count++] = *more;
    }
    run_program(out, "ripple", run_scratch(), list);
}

static void ripple_fine(run_result *out, const char *const *more)
{
    ripple(out, more);
    if (out->status != 0) FAIL("ripple: status %d:\n%s", out->status, out->text);
}

/* ThreadSanitizer: the same threads as in other cases, with other numbers. */
static void ripple_needs_no_threads(void)
{
    if (test_thread_sanitized())
        SKIP("ThreadSanitizer sees the same threads in cases that compare paths");
}

static const char *in_scratch(char out[FILES_PATH_MAX], const char *name)
{
    return run_scratch_path(out, name);
}

static uint8_t *read_picture(const char *name)
{
    char path[FILES_PATH_MAX];
    uint32_t width = 0, height = 0;
    uint8_t *pixels = NULL;
    if (!png_read_rgba(in_scratch(path, name), &width, &height, &pixels))
        FAIL("no picture %s", name);
    REQUIRE_EQ(width, WIDTH);
    REQUIRE_EQ(height, HEIGHT);
    return pixels;
}

static int same_file(const char *first, const char *second)
{
    char path[FILES_PATH_MAX];
    void *a = NULL, *b = NULL;
    size_t a_size = 0, b_size = 0;
    REQUIRE(files_read(in_scratch(path, first), &a, &a_size));
    REQUIRE(files_read(in_scratch(path, second), &b, &b_size));
    int same = a_size == b_size && memcmp(a, b, a_size) == 0;
    free(a);
    free(b);
    return same;
}

/* Not flat, neither black nor white, and more than one hue. */
static void require_picture(void)
{
    uint8_t *pixels = read_picture("new/directory/a.png");
    double sum[3] = {0, 0, 0}, squares[3] = {0, 0, 0};
    const double count = (double)WIDTH * HEIGHT;
    for (size_t i = 0; i < (size_t)WIDTH * HEIGHT; i++) {
        for (size_t c = 0; c < 3; c++) {
            sum[c] += pixels[4 * i + c];
            squares[c] += (double)pixels[4 * i + c] * pixels[4 * i + c];
        }
    }
    free(pixels);
    for (size_t c = 0; c < 3; c++) {
        double mean = sum[c] / count, deviation = sqrt(squares[c] / count - mean * mean);
        MEASURED("channel", "%zu mean %.1f deviation %.1f", c, mean, deviation);
        REQUIRE(mean > 40.0 && mean < 215.0);
        REQUIRE(deviation > 15.0);
    }
    REQUIRE(fabs(sum[0] - sum[2]) / count > 2.0);
}

/* The field is alive, finite, and as high as waves are. */
static void require_field(void)
{
    char path[FILES_PATH_MAX];
    void *data = NULL;
    size_t size = 0;
    REQUIRE(files_read(in_scratch(path, "dump/a.raw"), &data, &size));
    REQUIRE_EQ(size, 64 * 48 * sizeof(float));
    float highest = 0.0f;
    for (size_t i = 0; i < 64 * 48; i++) {
        float height;
        memcpy(&height, (const char *)data + i * sizeof height, sizeof height);
        REQUIRE(isfinite(height));
        highest = fmaxf(highest, fabsf(height));
    }
    free(data);
    REQUIRE(highest > 0.001f && highest < 0.2f);
}

/* The summary names the driver; without --quiet it tells the times, too. */
TEST(picture_shows_something)
{
    run_result r;
    ripple_fine(&r, (const char *[]){"--frames", "30", "--output", "new/directory/a.png",
                                     "--dump-field", "dump/a.raw", NULL});
    require_picture();
    require_field();
    REQUIRE(strstr(r.text, "software twin") || strstr(r.text, "NVIDIA driver"));
    REQUIRE(strstr(r.text, "grid 64x48"));
    REQUIRE(strstr(r.text, "30 frames"));
    REQUIRE(strstr(r.text, "ring of 8 in bursts of 4"));
    REQUIRE(strstr(r.text, "ms a frame: simulation "));
}

TEST(same_seed_same_bytes)
{
    static const char *const seeds[] = {"5", "5", "6"};
    run_result r;
    ripple_needs_no_threads();
    for (int i = 0; i < 3; i++) {
        char png[] = "0.png", raw[] = "0.raw";
        png[0] = raw[0] = (char)('0' + i);
        ripple_fine(
            &r, (const char *[]){"--seed", seeds[i], "--output", png, "--dump-field", raw, NULL});
    }
    REQUIRE(same_file("0.png", "1.png") && same_file("0.raw", "1.raw"));
    REQUIRE(!same_file("0.png", "2.png") && !same_file("0.raw", "2.raw"));
}

/* Frames by one way (a: pictures and field) and by another (b). */
static void require_same_frames(int frames, const char *what)
{
    char a[24], b[24];
    for (int frame = 0; frame < frames; frame++) {
        snprintf(a, sizeof a, "a/%02d.png", frame);
        snprintf(b, sizeof b, "b/%02d.png", frame);
        if (!same_file(a, b)) FAIL("frame %d differs with %s", frame, what);
    }
    REQUIRE(same_file("a.raw", "b.raw"));
}
#define TO(way) SMALL, "--output", way "/%02d.png", "--dump-field", way ".raw"

/* A ring of any depth and burst, whole bursts or not, and one buffer, for which the two sides take
 * turns: every picture is that of the path by hand with two. */
TEST(ring_same_bytes)
{
    static const char *const flows[][3] = {{"--path=shared", "--buffers=1", NULL},
                                           {"--depth=1", NULL},
                                           {"--depth=8", NULL},
                                           {"--depth=5", "--burst=5", NULL},
                                           {"--depth=3", "--burst=1", NULL},
                                           {"--depth=12", "--max-latency=20", NULL}};
    run_result r;
    ripple_fine(&r, (const char *[]){"--frames", "13", "--path=shared", TO("a"), NULL});
    for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++) {
        ripple_fine(&r,
                    (const char *[]){"--frames", "13", TO("b"), flows[i][0], flows[i][1], NULL});
        require_same_frames(13, flows[i][0]);
    }
}

static void ripple_needs_kernels(void)
{
    run_result r;
    ripple(&r, (const char *[]){"--path=in-queue", "--frames", "1", "--output", "a.png", NULL});
    if (r.status == 1 && strstr(r.text, "VK_NVX_binary_import"))
        SKIP("the device has no kernels in command buffers");
}

static void ripple_needs_kernels_of(const char *way)
{
    if (strcmp(way, "--path=ring") != 0 && strcmp(way, "--path=shared") != 0 &&
        strstr(way, "--path="))
        ripple_needs_kernels();
}

/* The same kernels in Vulkan's queues: every picture and the field are those of CUDA's stream. */
TEST(queues_same_bytes)
{
    static const char *const paths[][3] = {
        {"--path=in-queue", NULL}, {"--path=async", NULL}, {"--path=async", "--buffers=1", NULL}};
    run_result r;
    ripple_needs_kernels();
    ripple_fine(&r, (const char *[]){"--frames", "12", "--path=shared", TO("a"), NULL});
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        ripple_fine(&r,
                    (const char *[]){"--frames", "12", TO("b"), paths[i][0], paths[i][1], NULL});
        require_same_frames(12, paths[i][0]);
    }
}

/* How many GPUs there are: the twin has four. */
static void four_gpus(void)
{
    setenv("CULVERT_SOFT_DEVICES", "4", 1);
}

/* Whatever GPUs solve, the one that draws among them or not, and wherever they are in the row:
 * every picture and the field are those of one GPU. As far as the machine has so many. */
TEST(solver_gpus_same_bytes, .own = true)
{
    static const char *const gpus[] = {"0", "1", "1,0", "1,2", "1,2,3", "3,0,1,2"};
    run_result r;
    four_gpus();
    ripple_fine(&r, (const char *[]){"--frames", "13", "--size", "67x47", TO("a"), NULL});
    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++) {
        ripple(&r, (const char *[]){"--frames", "13", "--size", "67x47", TO("b"), "--solver-gpus",
                                    gpus[i], NULL});
        if (i > 0 && r.status != 0 && strstr(r.text, "no CUDA device is ordinal")) break;
        if (r.status != 0) FAIL("%s: status %d:\n%s", gpus[i], r.status, r.text);
        require_same_frames(13, gpus[i]);
    }
}

/* One line, of which scripts take numbers. */
TEST(result_is_for_programs)
{
    static const char *const keys[] = {"sample",  "device",        "driver",     "path",
                                       "buffers", "burst",         "width",      "height",
                                       "frames",  "simulation_ms", "drawing_ms", "frame_ms"};
    run_result r;
    ripple_needs_no_threads();
    ripple_fine(&r, (const char *[]){"--quiet", "--path", "shared", "--output", "a.png", NULL});
    static const char begin[] = "RESULT {\"sample\": \"ripple\", ";
    REQUIRE(strncmp(r.text, begin, sizeof begin - 1) == 0);
    const char *end = strchr(r.text, '\n');
    REQUIRE(end && end[-1] == '}' && end[1] == '\0');
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char key[64];
        snprintf(key, sizeof key, "\"%s\": ", keys[i]);
        if (!strstr(r.text, key)) FAIL("no key %s in %s", keys[i], r.text);
    }
    REQUIRE(strstr(
        r.text,
        "\"path\": \"shared\", \"buffers\": 2, \"burst\": 1, \"width\": 64, \"height\": 48, \"frames\": 7, "));
}

/* Sizes that no block, stride or aspect divides. */
TEST(odd_sizes)
{
    run_result r;
    ripple_needs_no_threads();
    static const char *const sizes[] = {"16x16", "67x31", "31x203", "341x16"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ripple_fine(
            &r, (const char *[]){"--frames", "3", "--size", sizes[i], "--output", "a.png", NULL});
        free(read_picture("a.png"));
    }
}

static bool ripple_has_validation(void)
{
    run_result r;
    ripple(&r, (const char *[]){"--validation", "--frames", "1", "--output", "probe.png", NULL});
    return r.status == 0 || !strstr(r.text, "is not installed");
}

static void ripple_needs_validation(void)
{
    if (test_sanitized())
        SKIP("the validation layer leaks memory of its own, which LeakSanitizer reports");
    if (!ripple_has_validation()) SKIP("the validation layer is not installed");
}

static void validation_is_silent(const char *way)
{
    run_result r;
    ripple_needs_kernels_of(way);
    ripple_needs_validation();
    /* More frames than are in flight, so that everything is used again. */
    ripple_fine(&r,
                (const char *[]){"--validation", "--frames", "12", way, "--output", "a.png", NULL});
    REQUIRE(strstr(r.text, "validation: no messages"));
}

TEST_AS(validation_is_silent_ring, validation_is_silent("--path=ring"))
TEST_AS(validation_is_silent_shared, validation_is_silent("--path=shared"))
TEST_AS(validation_is_silent_in_queue, validation_is_silent("--path=in-queue"))
TEST_AS(validation_is_silent_async, validation_is_silent("--path=async"))

TEST(validation_is_silent_bands, .own = true)
{
    four_gpus();
    validation_is_silent("--solver-gpus=1,2,3");
}

static void run_as_told(run_result *out, const char *const *arguments)
{
    run_program(out, "ripple", run_scratch(), arguments);
}

TEST(bad_options_are_refused)
{
    static const run_wrong wrong[] = {
        {{"--sise", "3"}, "unknown option --sise"},
        {{"picture.png"}, "unknown option picture.png"},
        {{"--frames"}, "--frames: expected something"},
        {{"--frames", "-1"}, "--frames -1: expected a number"},
        {{"--frames", "0"}, "--frames 0: expected a number"},
        {{"--frames", "3x"}, "--frames 3x: expected a number"},
        {{"--seed", "99999999999999999999"}, "--seed 99999999999999999999: expected"},
        {{"--size", "64"}, "--size 64: expected WIDTHxHEIGHT"},
        {{"--size", "64x48x2"}, "--size 64x48x2: expected"},
        {{"--size", "4x4"}, "--size 4x4: expected"},
        {{"--size", "64x99999999999"}, "--size 64x99999999999: expected"},
        {{"--buffers", "3"}, "--buffers 3: expected"},
        {{"--output", "a-%s.png"}, "after % only d"},
        {{"--output", "a-%d-%d.png"}, "after % only d"},
        {{"--output", "a.jpg"}, "ends in .png"},
        {{"--path=fast"}, "--path fast: expected ring, shared, in-queue or async"},
        {{"--path="}, "--path : expected ring, shared, in-queue or async"},
        {{"--depth", "0"}, "--depth 0: expected"},
        {{"--depth=65"}, "--depth 65: expected"},
        {{"--burst", "9"}, "--burst 9: a ring of 8"},
        {{"--max-latency=0"}, "--max-latency 0: expected"},
        {{"--buffers", "1"}, "--buffers: only with"},
        {{"--path=in-queue", "--buffers", "2"}, "--buffers: with --path=in-queue there is one"},
        {{"--path=async", "--depth", "4"}, "--depth: only with"},
        {{"--path=shared", "--depth", "4"}, "--depth: only with"},
        {{"--path=shared", "--burst", "2"}, "--burst: only with"},
        {{"--path=shared", "--max-latency", "5"}, "--max-latency: only with"},
        {{"--solver-gpus", "1,x"}, "--solver-gpus 1,x: not up to 16 different numbers"},
        {{"--solver-gpus=1,2,1"}, "--solver-gpus 1,2,1: not up to 16 different numbers"},
        {{"--solver-gpus=1", "--path=shared"}, "--solver-gpus: not with --path"},
        {{"--quiet=yes"}, "unknown option --quiet=yes"},
        {{"--device", "77"}, "--device 77: expected auto, nvidia or soft"},
        {{"--api", "metal"}, "--api metal: expected vulkan or gl"},
        {{"--api=gl", "--path=shared"}, "--path: with --api=gl it is ring"},
        {{NULL}, NULL},
    };
    run_result r;
    run_refuses(run_as_told, wrong);
    run_as_told(&r, (const char *[]){"--help", NULL});
    REQUIRE_EQ(r.status, 0);
    REQUIRE(strstr(r.text, "--resolution"));
}

TEST(output_that_cannot_be_written)
{
    run_result r;
    ripple_needs_no_threads();
    char path[FILES_PATH_MAX];
    REQUIRE(files_write(in_scratch(path, "file"), "x", 1));
    ripple(&r, (const char *[]){"--output", "file/a.png", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "file"));
    ripple(&r, (const char *[]){"--output", "/proc/no/a.png", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "/proc/no"));
}

/* A picture that cannot be written ends the run in the middle of its frames: with a message, and
 * without one side waiting for ever for the other. */
static void failure_in_mid_run(const char *way)
{
    run_result r;
    ripple_needs_kernels_of(way);
    char link[FILES_PATH_MAX];
    ripple_fine(&r, (const char *[]){"--frames", "1", "--output", "full/000.png", NULL});
    REQUIRE(symlink("/dev/full", in_scratch(link, "full/004.png")) == 0);
    ripple(&r, (const char *[]){"--frames", "40", way, "--output", "full/%03d.png", NULL});
    REQUIRE_EQ(r.status, 1);
    REQUIRE(strstr(r.text, "full/004.png"));
    REQUIRE(!strstr(r.text, "RESULT"));
}

TEST_AS(failure_in_mid_run_ring, failure_in_mid_run("--path=ring"))
TEST_AS(failure_in_mid_run_shared, failure_in_mid_run("--path=shared"))
TEST_AS(failure_in_mid_run_in_queue, failure_in_mid_run("--path=in-queue"))
TEST_AS(failure_in_mid_run_async, failure_in_mid_run("--path=async"))

TEST(failure_in_mid_run_bands, .own = true)
{
    four_gpus();
    failure_in_mid_run(strcmp(test_option("driver", ""), "soft") == 0 ? "--solver-gpus=2,1"
                                                                      : "--solver-gpus=0");
}

/* --api=gl: the picture is Vulkan's. */
TEST(gl_draws_what_vulkan_draws, .title = "ripple.gl.draws_what_vulkan_draws")
{
    run_result r;
    ripple_needs_no_threads();
    ripple_fine(&r, (const char *[]){"--output", "vulkan.png", "--dump-field", "vulkan.raw", NULL});
    ripple_fine(&r, (const char *[]){"--api=gl", "--output", "gl.png", "--dump-field", "gl.raw",
                                     "--validation", NULL});
    REQUIRE(strstr(r.text, "validation: no messages"));
    REQUIRE(strstr(r.text, "\"path\": \"ring\""));
    REQUIRE(same_file("vulkan.raw", "gl.raw"));
    /* Two compilers of one shader round differently. Waves a frame late are off by far more: 1.1 of
     * 255 on average. */
    uint8_t *a = read_picture("vulkan.png"), *b = read_picture("gl.png");
    const size_t channels = (size_t)4 * WIDTH * HEIGHT;
    double sum = 0.0;
    for (size_t i = 0; i < channels; i++)
        sum += abs((int)a[i] - (int)b[i]);
    MEASURED("mean_difference", "%.5f of 255", sum / (double)channels);
    REQUIRE(sum / (double)channels < 0.1);
    free(a);
    free(b);
}

/* Whatever driver call fails, the program ends, says why, and leaves nothing behind: on the twin */
#undef TEST_GROUP
#define TEST_GROUP "torture."

/* Runs in a row without a failure that went over this many calls: they are exhausted (calls on
 * other threads come and go). Three runs at least. */
#define ENOUGH_CALLS 42u
#define MOST_CALLS   600u

static void short_run(run_result *r, const void *way)
{
    ripple(r,
           (const char *[]){"--device", "soft", way, "--size", "16x16", "--resolution", "32x32",
                            "--steps", "1", "--frames", "4", "--quiet", "--output", "a.png", NULL});
}

/* The paths make the same calls at first, so each sweep begins with another one. */
static void failures(const char *way, const char *kind, unsigned first, const char *const *named)
{
    if (test_thread_sanitized()) SKIP("ThreadSanitizer sees these ends in other cases");
    const failing_program program = {"ripple", short_run, way};
    const unsigned stride = test_sanitized() ? 7 : 4;
    failures_need_the_twin(&program);
    failures_must_end(&program, named);
    failures_sweep(&program, kind, 1 + first % stride, MOST_CALLS, stride,
                   3 * stride >= ENOUGH_CALLS ? 3 : ENOUGH_CALLS / stride + 1);
}

TEST_AS(cuda_ring,
        failures("--path=ring", "cuda", 0,
                 (const char *[]){"cuda:cuInit:1", "cuda:cuModuleLoadData:1", "cuda:cuMemAlloc:2",
                                  "cuda:cuImportExternalMemory:3",
                                  "cuda:cuImportExternalSemaphore:2", "cuda:cuLaunchKernel:3",
                                  "cuda:cuEventRecord:2", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_ring,
        failures("--path=ring", "vulkan", 0,
                 (const char *[]){"vulkan:vkCreateDevice:1", "vulkan:vkAllocateMemory:3",
                                  "vulkan:vkCreateGraphicsPipelines:2", "vulkan:vkGetMemoryFdKHR:2",
                                  "vulkan:vkGetSemaphoreFdKHR:2", "vulkan:vkQueueSubmit2:1", NULL}),
        .time_limit = 240)
TEST_AS(cuda_shared,
        failures("--path=shared", "cuda", 5,
                 (const char *[]){"cuda:cuModuleGetFunction:3",
                                  "cuda:cuExternalMemoryGetMappedBuffer:1",
                                  "cuda:cuSignalExternalSemaphoresAsync:3",
                                  "cuda:cuWaitExternalSemaphoresAsync:2", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_shared,
        failures("--path=shared", "vulkan", 5,
                 (const char *[]){"vulkan:vkCreateImage:2", "vulkan:vkBindBufferMemory:3",
                                  "vulkan:vkQueueSubmit2:1", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_in_queue,
        failures("--path=in-queue", "vulkan", 15,
                 (const char *[]){"vulkan:vkCreateCuModuleNVX:1", "vulkan:vkCreateCuFunctionNVX:2",
                                  "vulkan:vkAllocateMemory:3", "vulkan:vkQueueSubmit2:2", NULL}),
        .time_limit = 240)
TEST_AS(vulkan_async,
        failures("--path=async", "vulkan", 2,
                 (const char *[]){"vulkan:vkCreateCuModuleNVX:1", "vulkan:vkCreateSemaphore:2",
                                  "vulkan:vkQueueSubmit2:3", "vulkan:vkWaitForFences:2", NULL}),
        .time_limit = 240)
TEST(cuda_bands, .own = true, .time_limit = 240)
{
    setenv("CULVERT_SOFT_DEVICES", "3", 1);
    failures("--solver-gpus=1,2", "cuda", 9,
             (const char *[]){"cuda:cuMemCreate:2", "cuda:cuMemSetAccess:2", "cuda:cuEventCreate:2",
                              "cuda:cuMemcpyAsync:2", "cuda:cuStreamWaitEvent:3",
                              "cuda:cuImportExternalMemory:3", "cuda:cuImportExternalSemaphore:3",
                              "cuda:cuLaunchKernel:4", NULL});
}
