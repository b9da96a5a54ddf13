/* SPDX-License-Identifier: MIT */
/* Tests of samples/hello: what the programs say, what the validation layer says of them, and the
 * pictures that two of them draw. */
#include <volk.h>

#include "harness.h"
#include "run.h"
#include "screen.h"

enum { WIDTH = 253, HEIGHT = 127, PIXELS = WIDTH * HEIGHT };

/* What each program says when all is well. */
static const struct {
    const char *name, *says;
} programs[] = {
    {"hello_vulkan", "hello_vulkan.ppm: 0 of 32131 pixels are wrong\n"},
    {"hello_cull",
     "hello_cull.ppm: 2808 draws, in 0 of 20 frames a wrong number; 0 of 642620 pixels are wrong\n"},
    {"hello_ring", "hello_ring: 0 of 1000700 words in 100 frames are wrong\n"},
    {"hello_ipc", "hello_ipc: 0 of 1000700 words in 100 frames are wrong\n"},
};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };
#define GL_SAYS "hello_gl.ppm: 0 of 32131 pixels are wrong\n"

static void choose_driver(void)
{
    if (test_driver() == TEST_DRIVER_NVIDIA) unsetenv("CULVERT_SOFT");
    if (test_driver() == TEST_DRIVER_SOFT) setenv("CULVERT_SOFT", "1", 1);
}

static void run_hello(run_result *out, const char *program, const char *where)
{
    char kernels[TEST_PATH_MAX];
    const char *const none[] = {NULL};
    const char *const with_kernels[] = {test_path(kernels, "share/culvert"), "--frames=30", NULL};
    const bool takes = strcmp(program, "hello_cull") == 0 || strcmp(program, "hello_window") == 0;
    choose_driver();
    run_program(out, program, where, takes ? with_kernels : none);
}

/* The version of the validation layer; 0: it is not installed. */
static uint32_t validation_layer(void)
{
    VkLayerProperties layers[64];
    uint32_t count = 64;
    if (volkInitialize() != VK_SUCCESS || vkEnumerateInstanceLayerProperties(&count, layers) < 0)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, "VK_LAYER_KHRONOS_validation") == 0)
            return layers[i].specVersion;
    return 0;
}

/* Where the id is in a line that begins a message. The layer of 1.3.239 writes
 * "VUID-...(ERROR / SPEC): ...", and that of 1.4.309 "Validation Error: [ VUID-... ] ..." with the
 * text in the lines below. NULL: the line begins no message. */
static const char *find_id(const char *line)
{
    static const char *const kinds[] = {"VUID-", "UNASSIGNED-", "SYNC-"};
    const char *newer = strstr(line, "Validation Error");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(line, kinds[i], strlen(kinds[i])) == 0) return line;
    if (newer == NULL || newer > line + strcspn(line, "\n")) return NULL;
    newer += strcspn(newer, "[\n");
    return *newer == '[' ? newer + 1 + strspn(newer + 1, " ") : newer;
}

/* Fails when there is a message that is not allowed. */
static void require_silence(const char *program, const char *text, uint32_t version)
{
    char list[TEST_PATH_MAX], id[256], message[4096];
    test_path(list, "share/culvert/allowed_vuids.txt");
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line != 0) {
        const char *found = find_id(line), *end = strstr(line, "\n\n");
        if (found == NULL) continue;
        snprintf(id, sizeof id, "%.*s", (int)strcspn(found, "( ]\n"), found);
        snprintf(message, sizeof message, "%.*s",
                 (int)(end != NULL ? (size_t)(end - line) : strlen(line)), line);
        if (!test_message_allowed(list, id, message, version)) FAIL("%s:\n%s", program, text);
    }
}

/* Under the validation layer, where it is installed and there is no sanitizer, which would report
 * what the layer itself leaks. */
static void run_one_well(const char *program, const char *says, run_result *out)
{
    const uint32_t version = test_sanitized() ? 0 : validation_layer();
    if (version != 0) {
        setenv("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation", 1);
        setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
               1);
    }
    run_hello(out, program, run_scratch());
    if (out->status != 0 || !strstr(out->text, says))
        FAIL("%s: status %d:\n%s", program, out->status, out->text);
    require_silence(program, out->text, version);
    printf("  %s, %s", version != 0 ? "validated" : "without validation", out->text);
}

static void run_well(int i, run_result *out)
{
    run_one_well(programs[i].name, programs[i].says, out);
}

/* A picture of WIDTH x HEIGHT, three bytes a pixel. */
static void read_picture(const char *name, unsigned char pixels[PIXELS][3])
{
    static const char header[] = "P6 253 127 255\n";
    char path[TEST_PATH_MAX], got[sizeof header] = "";
    FILE *f = fopen(run_scratch_path(path, name), "rb");
    REQUIRE(f);
    REQUIRE_EQ(fread(got, 1, sizeof header - 1, f), sizeof header - 1);
    REQUIRE_EQ_STR(got, header);
    REQUIRE_EQ(fread(pixels, 3, PIXELS, f), PIXELS);
    REQUIRE(fgetc(f) == EOF);
    fclose(f);
}

static int by_colour(const void *a, const void *b)
{
    return memcmp(a, b, 3);
}

static int colours(unsigned char pixels[PIXELS][3])
{
    static unsigned char sorted[PIXELS][3];
    int count = 1;
    memcpy(sorted, pixels, sizeof sorted);
    qsort(sorted, PIXELS, 3, by_colour);
    for (int i = 1; i < PIXELS; i++)
        count += memcmp(sorted[i], sorted[i - 1], 3) != 0;
    return count;
}

/* What the kernel of hello_window.cu computes, as a picture of 320 x 240. */
static picture wave(int frame)
{
    picture p = {.width = 320, .height = 240, .pixels = malloc(320 * 240 * 4)};
    REQUIRE(p.pixels != NULL);
    for (int at = 0; at < 320 * 240; at++) {
        int phase = (8 * (at % 320 / 10) + 4 * frame) % 256;
        if (phase > 128) phase = 256 - phase;
        const bool bar = at / 320 >= 220 - phase * phase * 200 / 16384;
        const int colour[4] = {bar * (40 + phase), bar * (90 + phase), bar * (255 - phase), 255};
        for (int i = 0; i < 4; i++)
            p.pixels[4 * at + i] = (uint8_t)colour[i];
    }
    return p;
}

/* It stops by itself; held, it shows its last frame until Escape. */
TEST(window_shows, .own = true)
{
    char kernels[TEST_PATH_MAX];
    const char *const held[] = {"--frames=9", "--hold", test_path(kernels, "share/culvert"), NULL};
    run_process process;
    run_result r;
    if (!HAS_WINDOW) SKIP("hello_window is not built, because GLFW was not found");
    screen_start();
    run_one_well("hello_window", "hello_window: 30 frames\n", &r);
    const picture wanted = wave(8);
    const double until = test_now_us() + TEST_FAR_MS * 1e3;
    run_start(&process, "hello_window", run_scratch(), held);
    const screen_window window = screen_find(&process, "hello_window");
    for (bool equal = false; !equal;) {
        picture shown = screen_picture(&window);
        equal = picture_equal(&shown, &wanted);
        free(shown.pixels);
        if (!equal && test_now_us() > until) FAIL("the window shows another picture");
    }
    screen_do((const char *[]){"keydown", "--window", window.id, "Escape", NULL});
    run_finish(&process, &r);
    REQUIRE_EQ(r.status, 0);
    free(wanted.pixels);
}

/* Each row is cut from one strip, so that neighbours are the same but for a shift. */
TEST(vulkan_draws, .own = true, .smoke = true)
{
    static unsigned char pixels[PIXELS][3];
    run_result r;
    int shifted = 0;
    run_well(0, &r);
    read_picture("hello_vulkan.ppm", pixels);
    REQUIRE(colours(pixels) > 300);
    for (int row = 1; row < HEIGHT; row++) {
        int shift = -20;
        for (; shift <= 20; shift++) {
            const int from = shift < 0 ? -shift : 0, left = shift > 0 ? shift : 0;
            if (memcmp(pixels[row * WIDTH + from], pixels[(row - 1) * WIDTH + left],
                       3 * (size_t)(WIDTH - from - left)) == 0)
                break;
        }
        if (shift > 20) FAIL("row %d is not the one above it, shifted", row);
        shifted += shift != 0;
    }
    REQUIRE(shifted > HEIGHT / 2);
}

/* The same rows of the same strip, by OpenGL. */
TEST(gl_draws_what_vulkan_draws, .own = true)
{
    static unsigned char by_vulkan[PIXELS][3], by_gl[PIXELS][3];
    run_result r;
    run_well(0, &r);
    run_one_well("hello_gl", GL_SAYS, &r);
    read_picture("hello_vulkan.ppm", by_vulkan);
    read_picture("hello_gl.ppm", by_gl);
    REQUIRE_EQ_BYTES(by_gl, by_vulkan, sizeof by_gl);
}

TEST(others_are_right, .own = true)
{
    run_result r;
    for (int i = 1; i < PROGRAMS; i++)
        run_well(i, &r);
}

/* Errors end a program with 1 and a message. */
TEST(errors_are_said, .own = true)
{
    run_result r;
    run_hello(&r, "hello_vulkan", "/proc"); /* where nobody writes files */
    if (r.status != 1 || !strstr(r.text, "file == NULL")) FAIL("status %d:\n%s", r.status, r.text);
    run_hello(&r, "hello_gl", "/proc");
    if (r.status != 1 || !strstr(r.text, "file == NULL")) FAIL("status %d:\n%s", r.status, r.text);
    setenv("VK_DRIVER_FILES", "/nonexistent.json", 1);
    for (int i = 0; i < PROGRAMS - 1; i++) { /* the last one, hello_ipc, uses no Vulkan */
        run_hello(&r, programs[i].name, run_scratch());
        if (r.status != 1 || !strstr(r.text, "vkCreateInstance") ||
            strstr(r.text, programs[i].says))
            FAIL("%s: status %d:\n%s", programs[i].name, r.status, r.text);
    }
}

/* No CUDA device: the message says why. */
TEST(no_device_is_said, .own = true)
{
    run_result r;
    if (test_driver() == TEST_DRIVER_NVIDIA) SKIP("the machine has a device");
    setenv("CULVERT_SOFT", "0", 1);
    const char *const none[] = {NULL};
    run_program(&r, "hello_vulkan", run_scratch(), none);
    if (r.status == 0) SKIP("the machine has a device"); /* whatever driver was asked for */
    REQUIRE_EQ(r.status, 1);
    if (!strstr(r.text, "culv_vk_choose_physical_device") || !strstr(r.text, "CULVERT_SOFT=1"))
        FAIL("%s", r.text);
    run_program(&r, "hello_gl", run_scratch(), none);
    REQUIRE_EQ(r.status, 1);
    if (!strstr(r.text, "device == NULL") || !strstr(r.text, "CULVERT_SOFT=1")) FAIL("%s", r.text);
}
