/* SPDX-License-Identifier: MIT */
/* What src/graphics does for every API, over one that is none: views of vectors. A chunk's native
 * part is another mapping of it, so that the data are seen. */
#include "graphics/vector_view.h"
#include "vector_stage.h"

extern _Atomic long culvi_alloc_countdown;

/* The API -------------------------------------------------------------------------------------- */

static struct {
    int countdown; /* the call that fails, counted from 1; 0: none */
    unsigned frees;
} none;

static culv_result refuse(const culvi_graphics *graphics, const char *text)
{
    return culvi_fail(&graphics->device->voice, NULL, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
                      "%s", text);
}

static void free_none(culvi_graphics *graphics)
{
    (void)graphics;
    none.frees++;
}

static culv_result check_exports(const culvi_graphics *graphics, const char *label, bool semaphores)
{
    return culvi_fail(&graphics->device->voice, label, CULV_ERROR_UNSUPPORTED,
                      CULV_REASON_NOT_EXPORTABLE, "this API exports no %s at all",
                      semaphores ? "semaphores" : "memory");
}

static const culvi_graphics_api api = {
    .words = &culvi_plain_words, .free = free_none, .check_exports = check_exports};

static void attach(culvi_graphics *graphics, culv_device *device)
{
    memset(&none, 0, sizeof none);
    memset(graphics, 0, sizeof *graphics);
    culvi_graphics_init(graphics, &api, device, "none");
    culvi_graphics_attached(graphics);
}

static void detach(culvi_graphics *graphics)
{
    culvi_graphics_unref(graphics);
    REQUIRE_EQ(none.frees, 1);
}

/* Views of vectors ----------------------------------------------------------------------------- */

typedef struct null_view {
    culv_vector_view base;
    unsigned made, dropped, shown;
    unsigned fail_make; /* this one, counted from 1; 0: none */
    bool fail_show;
} null_view;

static culv_result make_part(culv_vector_view *base, const culv_vector_chunk *chunk,
                             culvi_view_part *part)
{
    null_view *view = (null_view *)base;
    culv_vmm_range_desc d = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    if (view->fail_make == view->made + 1)
        return refuse(base->graphics, "the API makes no part, as it was told");
    REQUIRE_EQ(part->chunk, chunk->id);
    d.size = chunk->size;
    LIB_OK(culv_vmm_range_create(base->graphics->device, &d, &range));
    LIB_OK(culv_vmm_map(range, 0, chunk->allocation, NULL, 0));
    view->made++;
    part->object = (uint64_t)(uintptr_t)range;
    part->memory = 1000 + view->made;
    return CULV_OK;
}

static void drop_part(culv_vector_view *base, const culvi_view_part *part)
{
    culv_vmm_range *range = (culv_vmm_range *)(uintptr_t)part->object;
    LIB_OK(culv_vmm_unmap(range, 0, part->size));
    culv_vmm_range_destroy(&range);
    ((null_view *)base)->dropped++;
}

static culv_result show_parts(culv_vector_view *base, const culvi_view_part *parts, size_t count)
{
    null_view *view = (null_view *)base;
    if (view->fail_show)
        return refuse(base->graphics, "the API does not show the parts, as it was told");
    /* What is new is what was made since the last time. */
    unsigned fresh = 0;
    for (size_t i = 0; i < count; i++)
        fresh += !culvi_vector_view_has(base, &parts[i]);
    view->shown += fresh;
    return CULV_OK;
}

static const culvi_vector_view_api plain_views = {.make = make_part, .drop = drop_part};
static const culvi_vector_view_api shown_views = {
    .make = make_part, .drop = drop_part, .show = show_parts};

/* The parts are the vector's chunks, and have its words. */
static void require_view(const vector_stage *s, const null_view *view, uint64_t size, uint32_t seed)
{
    const raw_cuda *cu = s->w.cu;
    const culv_vector_view *base = &view->base;
    uint64_t end = 0;
    uint32_t *words = malloc((size_t)size);
    REQUIRE(words != NULL);
    REQUIRE_EQ(atomic_load(&base->generation), culv_vector_generation(base->vector));
    REQUIRE_EQ(view->made - view->dropped, base->num_parts);
    REQUIRE_EQ(culvi_vector_view_end(base->parts, base->num_parts),
               culv_vector_committed(base->vector));
    CUcontext before = lib_enter(&s->w);
    for (size_t i = 0; i < base->num_parts; i++) {
        const culvi_view_part *p = &base->parts[i];
        const culv_vmm_range *range = (const culv_vmm_range *)(uintptr_t)p->object;
        REQUIRE_EQ(p->offset, end);
        end += p->size;
        if (p->offset >= size) continue;
        const uint64_t bytes = size - p->offset < p->size ? size - p->offset : p->size;
        CU_OK(cu->MemcpyDtoH((char *)words + p->offset, culv_vmm_range_pointer(range),
                             (size_t)bytes));
    }
    lib_leave(&s->w, before);
    for (uint64_t i = 0; i < size / 4; i++)
        if (words[i] != lib_word((uint32_t)i, seed))
            FAIL("word %llu differs", (unsigned long long)i);
    free(words);
}

/* Chunks that stay keep their parts; new ones get some, those that go lose theirs. */
TEST(view_follows)
{
    for (int shown = 0; shown < 2; shown++) {
        vector_stage s;
        culvi_graphics graphics;
        null_view view;
        vector_stage_open(&s);
        attach(&graphics, s.w.device);
        memset(&view, 0, sizeof view);
        culv_vector_desc d = culv_vector_desc_init();
        d.size = 2 * s.chunk - 4;
        d.reserve = 4 * s.chunk;
        d.max_chunk = s.chunk;
        culv_vector *v = vector_make(&s, &d);
        vector_write(&s, culv_vector_pointer(v), 0, d.size, 3);
        culvi_vector_view_init(&view.base, shown ? &shown_views : &plain_views, &graphics, v,
                               "view");
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, d.size, 3);
        REQUIRE_EQ(view.made, 2);
        LIB_OK(culvi_vector_view_update(&view.base)); /* nothing to do */
        REQUIRE_EQ(view.made, 2);
        const uint64_t first = view.base.parts[0].memory;
        LIB_OK(culv_vector_grow(v, 3 * s.chunk - 8));
        vector_write(&s, culv_vector_pointer(v), d.size, 3 * s.chunk - 8, 3);
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, 3 * s.chunk - 8, 3);
        REQUIRE_EQ(view.made, 3);
        vector_wall(&s, v); /* a move: other addresses, the same chunks */
        LIB_OK(culv_vector_grow(v, 5 * s.chunk));
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, 3 * s.chunk - 8, 3);
        REQUIRE_EQ(view.made, 5);
        REQUIRE_EQ(view.dropped, 0);
        LIB_OK(culv_vector_shrink(v, s.chunk + 4, NULL));
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, s.chunk + 4, 3);
        REQUIRE_EQ(view.dropped, 3);
        /* Where others were: new chunks, at an old offset */
        LIB_OK(culv_vector_grow(v, 3 * s.chunk));
        LIB_OK(culvi_vector_view_update(&view.base));
        require_view(&s, &view, s.chunk + 4, 3);
        REQUIRE_EQ(view.made, 6);
        REQUIRE_EQ(view.base.parts[0].memory, first);
        REQUIRE_EQ(view.shown, shown ? 6 : 0);
        culvi_vector_view_clear(&view.base);
        REQUIRE_EQ(view.made, view.dropped);
        LIB_OK(culv_vector_retire(v, 0, NULL));
        culv_vector_destroy(&v);
        detach(&graphics);
        vector_stage_close(&s);
    }
}

/* A part that is not made, a list that is not shown, host memory that is not there: nothing has
 * changed. */
VECTOR_CASE(view_failures)
{
    culvi_graphics graphics;
    null_view view;
    attach(&graphics, s->w.device);
    memset(&view, 0, sizeof view);
    culv_vector_desc d = culv_vector_desc_init();
    d.size = s->chunk;
    d.max_chunk = s->chunk;
    culv_vector *v = vector_make(s, &d);
    vector_write(s, culv_vector_pointer(v), 0, s->chunk, 5);
    culvi_vector_view_init(&view.base, &shown_views, &graphics, v, "view");
    LIB_OK(culvi_vector_view_update(&view.base));
    LIB_OK(culv_vector_grow(v, 4 * s->chunk));
    for (int i = 0; i < 6; i++) {
        const uint64_t generation = atomic_load(&view.base.generation);
        const culvi_view_part part = view.base.parts[0];
        view.fail_make =
            i < 3 ? view.made + 1 + (unsigned)i : 0; /* the first, second, third new one */
        view.fail_show = i == 3;
        atomic_store(&culvi_alloc_countdown, i == 4 ? 1 : i == 5 ? 2 : 0);
        const culv_result result = culvi_vector_view_update(&view.base);
        atomic_store(&culvi_alloc_countdown, 0);
        REQUIRE_EQ(result, i < 4 ? CULV_ERROR_DRIVER : CULV_ERROR_OUT_OF_MEMORY);
        REQUIRE_EQ(view.base.num_parts, 1);
        REQUIRE(memcmp(&view.base.parts[0], &part, sizeof part) == 0);
        REQUIRE_EQ(view.made - view.dropped, 1);
        REQUIRE_EQ(atomic_load(&view.base.generation), generation);
    }
    view.fail_make = 0;
    view.fail_show = false;
    LIB_OK(culvi_vector_view_update(&view.base));
    require_view(s, &view, s->chunk, 5);
    culvi_vector_view_clear(&view.base);
    culv_vector_destroy(&v);
    detach(&graphics);
}
