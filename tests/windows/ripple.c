/* SPDX-License-Identifier: MIT */
/* samples/ripple under Wine. The rig puts shared handles in place when a device is made. With
 * arguments it is the sample; without them it runs the cases below. They leave their pictures in
 * the present directory; pictures.py compares them with Vulkan's. */
#include "overlay.h"
#include "overlay11.h"
/* after windows.h */
#include "end.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ripple_main(int argc, char **argv);

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) fail(__LINE__, #condition);                                              \
    } while (0)

static const char said_file[] = "ripple-said.txt";

/* What the sample printed to stderr, as far as it fits. */
static void read_said(char out[4096])
{
    FILE *file = fopen(said_file, "rb");
    size_t length = file != NULL ? fread(out, 1, 4095, file) : 0;
    if (file != NULL) fclose(file);
    out[length] = '\0';
}

_Noreturn static void fail(int line, const char *what)
{
    char said[4096];
    fflush(stderr);
    read_said(said);
    printf("tests/windows/ripple.c:%d: FAILED: %s; ripple said: %s\n", line, what, said);
    end_process(1);
}

/* The sample with small defaults and these arguments, NULL last; its status. */
static int run(const char *const *arguments)
{
    static char name[] = "ripple", size[] = "--size=96x64", resolution[] = "--resolution=253x127",
                frames[] = "--frames=12", quiet[] = "--quiet";
    char *argv[24] = {name, size, resolution, frames, quiet};
    int argc = 5;
    while (*arguments != NULL && argc < 23)
        argv[argc++] = (char *)(uintptr_t)*arguments++;
    REQUIRE(freopen(said_file, "wb", stderr) != NULL);
    const int status = ripple_main(argc, argv);
    fflush(stderr);
    /* Whatever happened, nothing is shared any more. */
    REQUIRE(overlay_references() == 0 && overlay11_references() == 0);
    overlay12_clear();
    overlay11_clear();
    return status;
}
#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

/* Pictures ------------------------------------------------------------------------------------- */

enum { PICTURE_END = 20 }; /* bytes of a PNG that are sums: behind those of the pixels */

static unsigned char *read_picture(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*size);
    REQUIRE(data != NULL && *size > PICTURE_END && fread(data, 1, *size, file) == *size);
    fclose(file);
    return data;
}

/* The sample's PNGs are stored as they are, so that bytes of two of them compare as pixels do. */
static int difference(const char *path, const char *other)
{
    size_t size = 0, other_size = 0;
    unsigned char *a = read_picture(path, &size), *b = read_picture(other, &other_size);
    int most = size == other_size ? 0 : 255;
    for (size_t i = 0; most < 255 && i < size - PICTURE_END; i++) {
        const int now = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
        if (now > most) most = now;
    }
    free(a);
    free(b);
    return most;
}

/* Each path's first, middle and last frame. */
static void pictures(void)
{
    static const char *const frames[] = {"00000", "00006", "00011"};
    char names[3][48];
    REQUIRE(RUN("--api=d3d12", "--every=6", "--output=ripple-d3d12.png") == 0);
    REQUIRE(RUN("--api=d3d12", "--path=ring", "--depth=3", "--every=6",
                "--output=ripple-d3d12-ring.png") == 0);
    REQUIRE(RUN("--api=d3d11", "--every=6", "--output=ripple-d3d11.png") == 0);
    for (int i = 0; i < 3; i++) {
        snprintf(names[0], sizeof names[0], "ripple-d3d12-%s.png", frames[i]);
        snprintf(names[1], sizeof names[1], "ripple-d3d12-ring-%s.png", frames[i]);
        snprintf(names[2], sizeof names[2], "ripple-d3d11-%s.png", frames[i]);
        REQUIRE(difference(names[0], names[1]) == 0);
        /* Two translators of one shader, each within a unit of Vulkan's. */
        REQUIRE(difference(names[0], names[2]) <= 2);
    }
    REQUIRE(difference("ripple-d3d12-00000.png", "ripple-d3d12-00011.png") > 2); /* it moves */
}

/* What is refused ------------------------------------------------------------------------------ */

static void options(void)
{
    static const struct {
        const char *arguments[3], *says;
        int status;
    } rows[] = {
        {{"--api=d3d12", "--path=staged"}, "with --api=d3d12 it is ring or shared", 2},
        {{"--api=d3d12", "--path=in-queue"}, "with --api=d3d12 it is ring or shared", 2},
        {{"--api=d3d11", "--path=ring"}, "with --api=d3d11 it is shared", 2},
        {{"--api=d3d11", "--device=soft"}, "with --api=d3d11 it is auto or nvidia", 2},
        {{"--api=d3d12", "--device=list"}, "--device list: not with --api=d3d12", 2},
        {{"--api=d3d12", "--window"}, "--window: not with --api=d3d12", 2},
        {{"--api=d3d11", "--validation"}, "--validation: not with --api=d3d11", 2},
        {{"--api=d3d10"}, "expected vulkan, gl, d3d12 or d3d11", 2},
        {{"--api=gl"}, "built without OpenGL", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char said[4096];
        REQUIRE(run(rows[i].arguments) == rows[i].status);
        read_said(said);
        REQUIRE(strstr(said, rows[i].says) != NULL);
    }
}

/* Each of Direct3D's calls that make what is shared fails once; nothing is left. */
static void failures(void)
{
    unsigned n = 1;
    for (;; n++) {
        overlay_fail_at(n);
        const int status = RUN("--api=d3d12", "--frames=1", "--size=32x16", "--resolution=64x32",
                               "--output=ripple-failed.png");
        overlay_fail_at(0);
        if (status == 0) break;
        REQUIRE(status == 1);
    }
    REQUIRE(n > 8);
    for (n = 1;; n++) {
        overlay11_fail_at(n);
        const int status = RUN("--api=d3d11", "--frames=1", "--size=32x16", "--resolution=64x32",
                               "--output=ripple-failed.png");
        overlay11_fail_at(0);
        if (status == 0) break;
        REQUIRE(status == 1);
    }
    REQUIRE(n > 4);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"pictures", pictures}, {"options", options}, {"failures", failures}};

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1) end_process(ripple_main(argc, argv));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const ULONGLONG begin = GetTickCount64();
        cases[i].run();
        printf("PASS ripple.%s (%llu ms)\n", cases[i].name, GetTickCount64() - begin);
    }
    end_process(0);
}
