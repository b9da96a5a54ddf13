/* SPDX-License-Identifier: MIT */
/* ripple in a window. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../common/png_file.h"
#include "../common/progress.h"
#include "../common/report.h"
#include "program.h"

typedef struct viewer {
    program *program;
    camera_view view;
    uint64_t frame;                       /* of the exchange: each picture shown is one */
    uint64_t simulated;                   /* frames that moved the water */
    bool moved[FRAMES_IN_FLIGHT];         /* did a frame in flight? */
    float milliseconds[FRAMES_IN_FLIGHT]; /* from the frame before it */
    double last_shown;                    /* seconds; 0: nothing was, or it paused since */
    bool paused, changed, closed;
} viewer;

static float clamp(float value, float low, float high)
{
    return fminf(fmaxf(value, low), high);
}

static bool all_simulated(const viewer *v)
{
    return v->program->options.frames != 0 && v->simulated == v->program->options.frames;
}

static bool stands_still(const viewer *v)
{
    return v->paused || all_simulated(v);
}

static void set_title(const viewer *v)
{
    window_set_title(v->program->window, all_simulated(v) ? "ripple (done)"
                                         : v->paused      ? "ripple (paused)"
                                                          : "ripple");
}

static void take_input(viewer *v)
{
    window_input input;
    window_poll(v->program->window, &input);
    v->closed |= input.closed;
    if (input.pause) {
        v->paused = !v->paused;
        set_title(v);
    }
    v->view.turn += 0.006f * (float)input.drag_x;
    v->view.lift = clamp(v->view.lift + 0.004f * (float)input.drag_y, -0.44f, 0.95f);
    v->view.closer = clamp(v->view.closer + 0.125f * (float)input.wheel, -1.0f, 2.5f);
    if (input.resized) v->program->swapchain.stale = true;
    v->changed |= input.pause || input.resized || input.exposed || input.drag_x != 0.0 ||
                  input.drag_y != 0.0 || input.wheel != 0.0;
}

/* After a resize, or when the surface says so. A window without an area is waited for. */
static bool fit(viewer *v)
{
    program *p = v->program;
    VkExtent2D extent = window_extent(p->window);
    if (extent.width == 0 || extent.height == 0) {
        window_wait(p->window);
        return true;
    }
    v->changed = true;
    if (!vk_ok(vkDeviceWaitIdle(p->vulkan.device), "vkDeviceWaitIdle") ||
        !swapchain_fit(&p->swapchain, extent))
        return false;
    return p->swapchain.stale || renderer_resize(&p->renderer, p->swapchain.extent);
}

/* Takes the times of the frame that used the slot before. */
static bool reclaim(viewer *v, finished_frame *finished)
{
    program *p = v->program;
    if (!program_reclaim(p, v->frame, finished)) return false;
    uint32_t slot = (uint32_t)(v->frame % FRAMES_IN_FLIGHT);
    if (!finished->any || !v->moved[slot]) return true;
    program_count(p, finished);
    p->totals.whole += (double)v->milliseconds[slot];
    return true;
}

static void note_time(viewer *v, bool moves)
{
    double now = clock_seconds();
    uint32_t slot = (uint32_t)(v->frame % FRAMES_IN_FLIGHT);
    v->moved[slot] = moves && v->last_shown > 0.0;
    v->milliseconds[slot] = (float)(1e3 * (now - v->last_shown));
    v->last_shown = moves ? now : 0.0;
}

/* Shows one picture, or none where the window has just changed. A `last` one is as the one before
 * it, and its pixels are kept. */
static bool show(viewer *v, bool last)
{
    program *p = v->program;
    finished_frame finished;
    swapchain_image image;
    if (!reclaim(v, &finished)) return false;
    if (!swapchain_acquire(&p->swapchain, (uint32_t)(v->frame % FRAMES_IN_FLIGHT), &image))
        return p->swapchain.stale;

    bool moves = !stands_still(v) && !last;
    uint64_t moment = moves || v->simulated == 0 ? v->simulated : v->simulated - 1;
    if (moves) p->totals.simulated = ++v->simulated;
    renderer_frame_desc desc = {.frame = v->frame,
                                .moment = moment,
                                .view = v->view,
                                .picture = last,
                                .swapchain = &p->swapchain,
                                .target = &image};
    /* CUDA's part comes first: presenting waits for a binary semaphore, and all that such a wait
     * depends on must have been submitted before (VUID-vkQueuePresentKHR-pWaitSemaphores-03268). */
    if (!solver_frame(p->solver, v->frame, !moves) || !solver_end_burst(p->solver) ||
        !renderer_frame(&p->renderer, &desc) || !swapchain_present(&p->swapchain, &image))
        return false;
    note_time(v, moves);
    v->frame++;
    v->changed = false;
    if (moves && all_simulated(v)) {
        set_title(v);
        v->changed = true;
    }
    return true;
}

static bool write_screenshot(program *p, const uint8_t *pixels)
{
    VkExtent2D extent = p->swapchain.extent;
    const char *path = p->options.screenshot;
    snprintf(p->last_picture, sizeof p->last_picture, "%s", path);
    return files_make_parents(path) &&
           (p->swapchain.color_format == VK_FORMAT_B8G8R8A8_SRGB
                ? png_write_bgra(path, extent.width, extent.height, pixels)
                : png_write_rgba(path, extent.width, extent.height, pixels));
}

/* Shows what is shown once more, and keeps it. */
static bool take_screenshot(viewer *v)
{
    if (v->program->options.screenshot) {
        for (uint64_t before = v->frame; v->frame == before;) {
            VkExtent2D extent = window_extent(v->program->window);
            if (extent.width == 0 || extent.height == 0) {
                report("--screenshot: the window is minimized");
                return false;
            }
            if (v->program->swapchain.stale && !fit(v)) return false;
            if (!show(v, true)) return false;
        }
    }
    for (uint32_t i = 0; i < FRAMES_IN_FLIGHT; i++, v->frame++) {
        finished_frame finished;
        if (!reclaim(v, &finished)) return false;
        if (finished.pixels && !write_screenshot(v->program, finished.pixels)) return false;
    }
    return true;
}

bool viewer_run(program *p)
{
    viewer v;
    memset(&v, 0, sizeof v);
    v.program = p;
    v.changed = true;
    bool fine = true;
    for (;;) {
        take_input(&v);
        if (v.closed || (all_simulated(&v) && !p->options.hold)) break;
        if (p->swapchain.stale) {
            fine = fit(&v);
        } else if (stands_still(&v) && !v.changed) {
            window_wait(p->window);
        } else {
            fine = show(&v, false);
        }
        if (!fine) break;
    }
    fine = fine && take_screenshot(&v);
    if (!fine) exchange_unblock(&p->exchange, v.frame);
    return fine && solver_finish(p->solver);
}
