/* SPDX-License-Identifier: MIT */
/* ripple by Vulkan: frames to PNG files. */
#include "../common/png_file.h"
#include "../common/progress.h"
#include "program.h"

static bool write_picture(program *p, uint64_t frame, const uint8_t *pixels)
{
    const options *o = &p->options;
    return options_picture_path(o, frame, p->last_picture) && files_make_parents(p->last_picture) &&
           png_write_rgba(p->last_picture, o->picture_width, o->picture_height, pixels);
}

static bool reclaim(program *p, uint64_t frame)
{
    finished_frame finished;
    if (!program_reclaim(p, frame, &finished)) return false;
    program_count(p, &finished);
    return !finished.pixels || write_picture(p, finished.frame, finished.pixels);
}

/* The solver's burst of frames, then the renderer's; without a ring a burst is one frame. Returns
 * how many; 0: failed. */
static uint64_t run_burst(program *p, uint64_t first)
{
    uint64_t left = p->options.frames - first, count = 0;
    do {
        if (!reclaim(p, first + count) || !solver_frame(p->solver, first + count)) return 0;
        count++;
    } while (p->exchange.burst_open && count < left && count < p->renderer.frames_in_flight);
    if (!solver_end_burst(p->solver)) return 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!renderer_frame(&p->renderer, first + i, options_wants_picture(&p->options, first + i)))
            return 0;
    }
    return count;
}

bool offscreen_run(program *p)
{
    const options *o = &p->options;
    progress bar;
    progress_begin(&bar, "ripple", o->frames, o->quiet);
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t frame = 0; fine && frame < o->frames;) {
        uint64_t count = run_burst(p, frame);
        fine = count > 0;
        frame += count;
        p->totals.simulated = frame;
        progress_update(&bar, frame);
    }
    for (uint64_t frame = o->frames; fine && frame < o->frames + p->renderer.frames_in_flight;
         frame++) {
        fine = reclaim(p, frame);
    }
    p->totals.whole = 1e3 * (clock_seconds() - started);
    /* A side whose partner's work was never submitted would wait forever. */
    if (!fine) exchange_unblock(&p->exchange, o->frames);
    return fine && solver_finish(p->solver);
}
