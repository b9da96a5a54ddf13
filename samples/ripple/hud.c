/* SPDX-License-Identifier: MIT */
/* ripple's frame times on the overlay. */
#include "hud.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_FRAMES 24u /* the numbers are means of so many: single frames would flicker */
#define LINE_LENGTH  42u

static const uint32_t panel_color = OVERLAY_COLOR(6, 14, 20, 214);
static const uint32_t text_color = OVERLAY_COLOR(240, 244, 246, 255);
static const uint32_t faint_color = OVERLAY_COLOR(168, 184, 192, 255);
static const uint32_t simulation_color = OVERLAY_COLOR(255, 190, 92, 255);
static const uint32_t drawing_color = OVERLAY_COLOR(96, 206, 255, 255);
static const uint32_t whole_color = OVERLAY_COLOR(225, 235, 240, 96);
static const uint32_t grid_color = OVERLAY_COLOR(225, 235, 240, 40);

void hud_add(hud *h, const hud_times *times)
{
    h->history[h->num_times++ % HUD_HISTORY] = *times;
}

static uint64_t kept(const hud *h)
{
    return h->num_times < HUD_HISTORY ? h->num_times : HUD_HISTORY;
}

/* The nth last. */
static const hud_times *last(const hud *h, uint64_t n)
{
    return &h->history[(h->num_times - 1 - n) % HUD_HISTORY];
}

static hud_times mean(const hud *h)
{
    hud_times sum = {0.0f, 0.0f, 0.0f};
    uint64_t count = kept(h) < SHOWN_FRAMES ? kept(h) : SHOWN_FRAMES;
    for (uint64_t i = 0; i < count; i++) {
        sum.simulation += last(h, i)->simulation;
        sum.drawing += last(h, i)->drawing;
        sum.whole += last(h, i)->whole;
    }
    float n = count ? (float)count : 1.0f;
    return (hud_times){sum.simulation / n, sum.drawing / n, sum.whole / n};
}

/* The graph's full height: the longest frame, rounded up so that it changes seldom. */
static float graph_scale(const hud *h)
{
    float longest = 1.0f;
    for (uint64_t i = 0; i < kept(h); i++)
        longest = fmaxf(longest, fmaxf(last(h, i)->whole, last(h, i)->simulation));
    return exp2f(ceilf(log2f(longest) * 2.0f) / 2.0f);
}

static void list_graph(const hud *h, int x, int y, int bar, int height, int dot, overlay *o)
{
    float scale = (float)height / graph_scale(h);
    int bottom = y + height;
    overlay_fill(o, x, y, bar * (int)HUD_HISTORY, 1, grid_color);
    overlay_fill(o, x, bottom, bar * (int)HUD_HISTORY, 1, grid_color);
    for (uint64_t i = 0; i < kept(h); i++) {
        const hud_times *t = last(h, i);
        int left = x + bar * (int)(HUD_HISTORY - 1 - i);
        int whole = (int)fminf(t->whole * scale + 0.5f, (float)height);
        int simulation = (int)fminf(t->simulation * scale + 0.5f, (float)height);
        int drawing = (int)fminf(t->drawing * scale + 0.5f, (float)height);
        overlay_fill(o, left, bottom - whole, bar, whole, whole_color);
        overlay_fill(o, left, bottom - simulation, bar, dot, simulation_color);
        if (t->drawing >= 0.0f) overlay_fill(o, left, bottom - drawing, bar, dot, drawing_color);
    }
}

/* A line of at most LINE_LENGTH characters; returns the next line's y. */
static int list_line(overlay *o, int x, int y, int scale, uint32_t color, const char *text)
{
    char line[LINE_LENGTH + 1];
    size_t length = strlen(text);
    if (length > LINE_LENGTH) length = LINE_LENGTH;
    memcpy(line, text, length);
    line[length] = '\0';
    overlay_text(o, x, y, scale, color, line);
    return y + overlay_line_height(scale);
}

void hud_list(const hud *h, const hud_text *text, VkExtent2D extent, overlay *o)
{
    int scale = extent.width >= 2400 ? 3 : extent.width >= 1000 ? 2 : 1;
    int margin = 8 * scale, graph_height = 28 * scale;
    int inner = overlay_text_width(scale, LINE_LENGTH), line = overlay_line_height(scale);
    int bar = inner / (int)HUD_HISTORY;
    int height = 7 * line + graph_height + 3 * margin;
    int x = 2 * margin, y = 2 * margin;
    hud_times times = mean(h);
    char drawing[32] = "unknown", buffer[96];
    if (times.drawing >= 0.0f) snprintf(drawing, sizeof drawing, "%9.2f ms", (double)times.drawing);

    overlay_clear(o);
    overlay_fill(o, margin, margin, inner + 2 * margin, height, panel_color);
    y = list_line(o, x, y, scale, text_color, text->device);
    y = list_line(o, x, y, scale, faint_color, text->path);
    y += margin / 2;
    snprintf(buffer, sizeof buffer, "simulation %9.2f ms", (double)times.simulation);
    y = list_line(o, x, y, scale, simulation_color, buffer);
    snprintf(buffer, sizeof buffer, "drawing    %s", drawing);
    y = list_line(o, x, y, scale, drawing_color, buffer);
    snprintf(buffer, sizeof buffer, "frame      %9.2f ms   %.1f fps", (double)times.whole,
             times.whole > 0.0f ? 1e3 / (double)times.whole : 0.0);
    y = list_line(o, x, y, scale, text_color, buffer);
    y += margin / 2;
    list_graph(h, x, y, bar, graph_height, scale, o);
    y += graph_height + margin / 2 + scale;
    y = list_line(o, x, y, scale, text_color, text->state);
    list_line(o, x, y, scale, faint_color, "drag: orbit  wheel: zoom  space: pause");
}
