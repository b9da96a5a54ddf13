/* SPDX-License-Identifier: MIT */
/* Tests of samples: a screen without a screen. */
#include "screen.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "files.h"
#include "harness.h"

#define MAX_WORDS  16
#define PATIENCE_S 100

static void need_command(const char *command, const char *argument, const char *package)
{
    run_result r;
    run_command(&r, (const char *[]){command, argument, NULL});
    if (r.status == 127) SKIP("%s is not installed (Debian: %s)", command, package);
}

/* The server writes the number of its display on a line of its own, once it serves it; what it says
 * besides (of displays that others have) does not matter. False when it ended. */
static bool read_display(const run_process *server, char *out, size_t size)
{
    size_t length = 0;
    bool digits = true;
    for (;;) {
        char c;
        ssize_t got = read(server->from, &c, 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        if (c != '\n') {
            digits = digits && c >= '0' && c <= '9' && length + 1 < size;
            if (digits) out[length++] = c;
        } else if (digits && length > 0) {
            out[length] = '\0';
            return true;
        } else {
            length = 0;
            digits = true;
        }
    }
}

void screen_start(void)
{
    need_command("xdotool", "version", "xdotool");
    need_command("xwd", "-help", "x11-apps");
    run_process server;
    run_command_start(&server,
                      (const char *[]){"Xvfb", "-displayfd", "1", "-screen", "0", "1024x768x24",
                                       "-nolisten", "tcp", "-noreset", NULL});
    char display[32] = ":";
    if (!read_display(&server, display + 1, sizeof display - 1)) {
        run_result r;
        run_finish(&server, &r);
        if (r.status == 127) SKIP("Xvfb is not installed (Debian: xvfb)");
        FAIL("Xvfb ended with status %d", r.status);
    }
    REQUIRE(setenv("DISPLAY", display, 1) == 0);
    REQUIRE(unsetenv("WAYLAND_DISPLAY") == 0);
}

static void sleep_ms(long milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000,
                            .tv_nsec = milliseconds % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

static void it_ended(run_process *process)
{
    run_result r;
    run_finish(process, &r);
    if (strstr(r.text, "needs GLFW") || strstr(r.text, "no window support")) SKIP("%s", r.text);
    FAIL("it ended with status %d:\n%s", r.status, r.text);
}

screen_window screen_find(run_process *process, const char *title)
{
    char pattern[128];
    snprintf(pattern, sizeof pattern, "^%s$", title);
    double until = test_now_us() + 1e6 * PATIENCE_S;
    while (test_now_us() < until) {
        run_result r;
        run_command(
            &r, (const char *[]){"xdotool", "search", "--onlyvisible", "--name", pattern, NULL});
        screen_window window;
        if (r.status == 0 && sscanf(r.text, "%31[0-9]", window.id) == 1) return window;
        if (run_ended(process)) it_ended(process);
        sleep_ms(30);
    }
    FAIL("no window is called %s", title);
}

void screen_do(const char *const *words)
{
    const char *argv[MAX_WORDS + 2] = {"xdotool"};
    for (int i = 0; words[i]; i++) {
        REQUIRE(i < MAX_WORDS);
        argv[i + 1] = words[i];
    }
    run_result r;
    run_command(&r, argv);
    if (r.status != 0) FAIL("xdotool %s: status %d: %s", words[0], r.status, r.text);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* One pixel of TrueColor with 8 bits a channel. */
static void take_pixel(const uint8_t *from, uint32_t bytes, bool most_first,
                       const uint32_t masks[3], uint8_t *to)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint32_t)from[i] << 8 * (most_first ? bytes - 1 - i : i);
    for (int channel = 0; channel < 3; channel++) {
        uint32_t shift = 0;
        while (!(masks[channel] >> shift & 1u))
            shift++;
        to[channel] = (uint8_t)((value & masks[channel]) >> shift);
    }
    to[3] = 255;
}

/* X11's XWDFile.h, version 7: numbers of 32 bits, big-endian. */
static picture read_xwd(const char *path)
{
    enum {
        HEADER_SIZE,
        VERSION,
        WIDTH = 4,
        HEIGHT,
        BYTE_ORDER_ = 7,
        BITS = 11,
        LINE,
        RED = 14,
        COLORS = 19
    };
    void *data = NULL;
    size_t size = 0;
    REQUIRE(files_read(path, &data, &size));
    const uint8_t *bytes = data;
    REQUIRE(size >= 100 && big_endian(bytes + 4 * VERSION) == 7);
#define XWD_FIELD(n) big_endian(bytes + 4 * (n))
    picture p = {.width = XWD_FIELD(WIDTH), .height = XWD_FIELD(HEIGHT)};
    const uint32_t masks[3] = {XWD_FIELD(RED), XWD_FIELD(RED + 1), XWD_FIELD(RED + 2)};
    uint32_t pixel = XWD_FIELD(BITS) / 8, line = XWD_FIELD(LINE);
    size_t first = (size_t)XWD_FIELD(HEADER_SIZE) + 12u * (size_t)XWD_FIELD(COLORS);
    bool most_first = XWD_FIELD(BYTE_ORDER_) == 1;
#undef XWD_FIELD
    REQUIRE(pixel >= 3 && pixel <= 4 && masks[0] && masks[1] && masks[2]);
    REQUIRE(size >= first + (size_t)line * p.height && line >= pixel * p.width);
    p.pixels = malloc((size_t)p.width * p.height * 4u);
    REQUIRE(p.pixels);
    for (uint32_t y = 0; y < p.height; y++) {
        for (uint32_t x = 0; x < p.width; x++) {
            take_pixel(bytes + first + (size_t)y * line + (size_t)x * pixel, pixel, most_first,
                       masks, p.pixels + 4u * ((size_t)y * p.width + x));
        }
    }
    free(data);
    return p;
}

picture screen_picture(const screen_window *window)
{
    char path[TEST_PATH_MAX];
    run_result r;
    run_command(&r, (const char *[]){"xwd", "-silent", "-id", window->id, "-out",
                                     run_scratch_path(path, "window.xwd"), NULL});
    if (r.status != 0) FAIL("xwd: status %d: %s", r.status, r.text);
    return read_xwd(path);
}

bool picture_equal(const picture *a, const picture *b)
{
    return a->width == b->width && a->height == b->height &&
           memcmp(a->pixels, b->pixels, (size_t)a->width * a->height * 4u) == 0;
}
