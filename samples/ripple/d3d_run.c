/* SPDX-License-Identifier: MIT */
/* ripple by Direct3D: the whole of --api=d3d12 and --api=d3d11. */
#define INITGUID
#define CULV_EXPERIMENTAL 1
#include "d3d_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <culvert/d3d12.h>

#include "../common/cuda_side.h"
#include "../common/png_file.h"
#include "../common/progress.h"
#include "program.h"

typedef struct d3d_state {
    program *program; /* its options, scene, exchange, solver and totals */
    const d3d_api *api;
    d3d_setup setup;
    CUcontext callers_context;
    meshes meshes;
    void *renderer;
    uint8_t *pixels;
} d3d_state;

const FLOAT d3d_background[4] = {0.02f, 0.03f, 0.04f, 1.0f};

bool d3d_ok(HRESULT result, const char *what)
{
    if (SUCCEEDED(result)) return true;
    report("%s: HRESULT 0x%08lx", what, (unsigned long)result);
    return false;
}

bool d3d_shader(const char *name, void **code, size_t *size)
{
    char path[FILES_PATH_MAX];
    return files_share_path(path, name) && files_read(path, code, size);
}

view_constants d3d_constants(const view_constants *frame, const mesh *m)
{
    view_constants constants = *frame;
    constants.grid[2] = (int32_t)m->width;
    constants.grid[3] = (int32_t)m->stride;
    return constants;
}

/* CUDA's side of the path shared --------------------------------------------------------------- */

static bool shared_acquire(exchange *e, CUstream stream, uint64_t frame)
{
    const d3d_turns *turns = e->own;
    return frame == 0 ||
           culv_ok(culv_semaphore_wait(turns->drawn, stream, frame), "culv_semaphore_wait");
}

static bool shared_release(exchange *e, CUstream stream, uint64_t frame)
{
    const d3d_turns *turns = e->own;
    return culv_ok(culv_semaphore_signal(turns->ready, stream, frame + 1), "culv_semaphore_signal");
}

const exchange_path d3d_path_shared = {
    .name = "shared", .cuda_acquire = shared_acquire, .cuda_release = shared_release};

/* The program ---------------------------------------------------------------------------------- */

/* The first adapter that CUDA has. */
static bool open_adapter(d3d_state *s)
{
    d3d_setup *d = &s->setup;
    IDXGIFactory1 *factory = NULL;
    char why_not[512] = "there is no adapter";
    culv_device_desc desc = culv_device_desc_init();
    desc.driver = CULV_DRIVER_NVIDIA;
    if (!d3d_ok(CreateDXGIFactory1(&IID_IDXGIFactory1, (void **)&factory), "CreateDXGIFactory1"))
        return false;
    for (UINT i = 0; !d->device; i++) {
        DXGI_ADAPTER_DESC1 about;
        if (IDXGIFactory1_EnumAdapters1(factory, i, &d->adapter) != S_OK) break;
        IDXGIAdapter1_GetDesc1(d->adapter, &about);
        WideCharToMultiByte(CP_UTF8, 0, about.Description, -1, d->name, sizeof d->name, NULL, NULL);
        d->name[sizeof d->name - 1] = '\0';
        if (culv_device_open_for_dxgi((IDXGIAdapter *)d->adapter, &desc, &d->device) == CULV_OK)
            break;
        snprintf(why_not, sizeof why_not, "%.120s: %.380s", d->name, culv_last_error_message());
        IDXGIAdapter1_Release(d->adapter);
        d->adapter = NULL;
    }
    IDXGIFactory1_Release(factory);
    if (!d->device) report("%s", why_not);
    return d->device != NULL;
}

static void describe_exchange(d3d_state *s)
{
    program *p = s->program;
    const options *o = &p->options;
    exchange *e = &p->exchange;
    const bool ring = o->path == OPTIONS_RING;
    e->device = s->setup.device;
    e->cu = s->setup.cu;
    e->grid = (VkExtent2D){o->grid_width, o->grid_height};
    e->cells_size = (VkDeviceSize)o->grid_width * o->grid_height * 4u * sizeof(float);
    e->tint_size = (VkDeviceSize)o->grid_width * o->grid_height * 4u;
    e->flow = (exchange_flow){.buffers = 1, .burst = 1};
    if (ring)
        e->flow = (exchange_flow){.buffers = o->depth,
                                  .burst = o->burst,
                                  .max_latency_ns = o->max_latency_ms * UINT64_C(1000000)};
    e->num_buffers = e->flow.buffers;
}

static bool set_up(d3d_state *s)
{
    program *p = s->program;
    const options *o = &p->options;
    if (!files_make_parents(o->output) || !open_adapter(s) ||
        !interop_enter_device(s->setup.device, &s->setup.cu, &s->callers_context))
        return false;
    if (!o->quiet) fprintf(stderr, "ripple: %s by Direct3D\n", s->setup.name);
    s->pixels = malloc((size_t)o->picture_width * o->picture_height * 4);
    if (!s->pixels) {
        report("out of memory for a picture of %u x %u", o->picture_width, o->picture_height);
        return false;
    }
    scene_init(&p->scene, o->grid_width, o->grid_height, o->seed);
    if (!mesh_make(&s->meshes, &p->scene, o->picture_width)) return false;
    describe_exchange(s);
    s->setup.options = o;
    s->setup.scene = &p->scene;
    s->setup.meshes = &s->meshes;
    s->setup.exchange = &p->exchange;
    s->renderer = s->api->create(&s->setup);
    if (!s->renderer) return false;
    p->solver = solver_create(&p->exchange, &p->scene, o->steps, p->exchange.num_buffers);
    return p->solver != NULL;
}

static void tear_down(d3d_state *s)
{
    solver_destroy(s->program->solver);
    if (s->renderer) s->api->destroy(s->renderer);
    interop_close_device(&s->setup.device, s->setup.cu, s->callers_context);
    if (s->setup.adapter) IDXGIAdapter1_Release(s->setup.adapter);
    free(s->meshes.indices);
    free(s->pixels);
}

static bool write_picture(d3d_state *s, uint64_t frame)
{
    program *p = s->program;
    const options *o = &p->options;
    return options_picture_path(o, frame, p->last_picture) && files_make_parents(p->last_picture) &&
           s->api->read(s->renderer, s->pixels) &&
           png_write_rgba(p->last_picture, o->picture_width, o->picture_height, s->pixels);
}

static bool draw(d3d_state *s, uint64_t frame)
{
    program *p = s->program;
    totals *t = &p->totals;
    float simulation = 0.0f;
    view_constants constants;
    const camera_view view = {0};
    camera_look(&p->scene, (VkExtent2D){p->options.picture_width, p->options.picture_height}, frame,
                &view, &constants);
    if (!s->api->draw(s->renderer, frame, &constants) ||
        !solver_frame_time(p->solver, frame, &simulation))
        return false;
    t->timed++;
    t->simulated++;
    t->simulation += (double)simulation;
    return !options_wants_picture(&p->options, frame) || write_picture(s, frame);
}

static bool run(d3d_state *s)
{
    const options *o = &s->program->options;
    progress bar;
    progress_begin(&bar, "ripple", o->frames, o->quiet);
    double started = clock_seconds();
    bool fine = true;
    for (uint64_t i = 0; fine && i < o->frames;) {
        const uint64_t end = i + solver_burst(s->program->solver, i, o->frames - i);
        for (fine = end > i; fine && i < end; i++) {
            fine = draw(s, i);
            progress_update(&bar, i + 1);
        }
    }
    s->program->totals.whole = 1e3 * (clock_seconds() - started);
    s->program->totals.drawing = -1.0; /* nobody has measured it */
    progress_end(&bar);
    return fine;
}

bool d3d_run(program *p)
{
    d3d_state s;
    memset(&s, 0, sizeof s);
    s.program = p;
    s.api = p->options.api == OPTIONS_D3D12 ? &d3d_api_12 : &d3d_api_11;
    bool fine =
        set_up(&s) && run(&s) && program_dump_field(p) &&
        program_print_result(p, s.setup.name, p->options.picture_width, p->options.picture_height);
    tear_down(&s);
    return fine;
}
