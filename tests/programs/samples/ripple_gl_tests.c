/* SPDX-License-Identifier: MIT */
/* Tests of ripple --api=gl: the picture is Vulkan's, whichever way the water got to OpenGL. */

#include "files.h"
#include "harness.h"
#include "samples_tests.h"
#include "screen.h"

static picture read_png(const char *name)
{
    char path[TEST_PATH_MAX];
    picture p;
    REQUIRE(png_read_rgba(run_scratch_path(path, name), &p.width, &p.height, &p.pixels));
    return p;
}

static void require_same_file(const char *first, const char *second)
{
    char path[TEST_PATH_MAX];
    void *a = NULL, *b = NULL;
    size_t a_size = 0, b_size = 0;
    REQUIRE(files_read(run_scratch_path(path, first), &a, &a_size));
    REQUIRE(files_read(run_scratch_path(path, second), &b, &b_size));
    if (a_size != b_size || memcmp(a, b, a_size) != 0) FAIL("%s is not %s", second, first);
    free(a);
    free(b);
}

TEST(gl_draws_what_vulkan_draws, .title = "gl.draws_what_vulkan_draws")
{
    run_result r;
    ripple_needs_no_threads();
    ripple_fine(&r, (const char *[]){"--output", "vulkan.png", "--dump-field", "vulkan.raw", NULL});
    for (size_t i = 0; i < 2; i++) {
        static const char *const paths[] = {"shared", "ring"};
        char option[32], picture_file[32], says[64];
        snprintf(option, sizeof option, "--path=%s", paths[i]);
        snprintf(picture_file, sizeof picture_file, "%s.png", paths[i]);
        snprintf(says, sizeof says, "\"path\": \"%s\"", paths[i]);
        ripple_fine(&r, (const char *[]){"--api=gl", option, "--output", picture_file,
                                         "--dump-field", "gl.raw", "--validation", NULL});
        REQUIRE(strstr(r.text, "validation: no messages"));
        REQUIRE(strstr(r.text, says));
        require_same_file("vulkan.raw", "gl.raw");
        if (i > 0) require_same_file("shared.png", picture_file);
    }
    /* Two compilers of one shader round differently. Waves a frame late are off by far more: 1.1 of
     * 255 on average. */
    picture a = read_png("vulkan.png"), b = read_png("shared.png");
    REQUIRE(a.width == b.width && a.height == b.height);
    const size_t channels = (size_t)4 * a.width * a.height;
    double sum = 0.0;
    for (size_t i = 0; i < channels; i++)
        sum += abs((int)a.pixels[i] - (int)b.pixels[i]);
    MEASURED("mean_difference", "%.5f of 255", sum / (double)channels);
    REQUIRE(sum / (double)channels < 0.1);
    free(a.pixels);
    free(b.pixels);
}

TEST(gl_options, .title = "gl.options")
{
    static const struct {
        const char *list[5];
        const char *says;
    } wrong[] = {
        {{"--api", "metal"}, "--api metal: expected vulkan or gl"},
        {{"--api=gl", "--path=in-queue"}, "--path: with --api=gl it is ring or shared"},
        {{"--api=gl", "--path=replay"}, "--path: with --api=gl it is ring or shared"},
        {{"--api=gl", "--burst=2"}, "--burst: only with --path=ring"},
        {{"--api=gl", "--device=list"}, "--device: with --api=gl it is auto, nvidia or soft"},
        {{"--api=gl", "--device=3"}, "--device: with --api=gl it is auto, nvidia or soft"},
    };
    run_result r;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ripple(&r, wrong[i].list);
        REQUIRE_EQ(r.status, 2);
        if (!strstr(r.text, wrong[i].says)) FAIL("%s, not: %s", wrong[i].says, r.text);
    }
}
