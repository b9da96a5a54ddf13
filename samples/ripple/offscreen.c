/* ripple without a window: frames to PNG files. SPDX-License-Identifier: MIT */
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

static bool submit(program *p, uint64_t frame)
{
    renderer_frame_desc desc = {
        .frame = frame, .moment = frame, .picture = options_wants_picture(&p->options, frame)};
    return solver_frame(p->solver, frame, false) && exchange_submit(&p->exchange, frame) &&
           renderer_frame(&p->renderer, &desc);
}

bool offscreen_run(program *p)
{
    const options *o = &p->options;
    progress bar;
    progress_begin(&bar, "ripple", o->frames, o->quiet);
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t frame = 0; fine && frame < o->frames; frame++) {
        fine = reclaim(p, frame) && submit(p, frame);
        p->totals.simulated = frame + 1;
        progress_update(&bar, frame + 1);
    }
    for (uint64_t frame = o->frames; fine && frame < o->frames + FRAMES_IN_FLIGHT; frame++) {
        fine = reclaim(p, frame);
    }
    p->totals.whole = 1e3 * (clock_seconds() - started);
    progress_end(&bar);
    /* A side whose partner's work was never submitted would wait forever. */
    if (!fine) exchange_unblock(&p->exchange, o->frames);
    return fine && solver_finish(p->solver);
}
