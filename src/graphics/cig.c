/* SPDX-License-Identifier: MIT */
/* culv_cig, for every graphics API that has it. */
#include "graphics/cig_source.h"

#include "base/alloc.h"

struct culv_cig {
    culvi_graphics *graphics; /* a reference */
    CUcontext context;
    uint64_t object;
    void (*end)(culvi_graphics *graphics, uint64_t object);
    char label[64];
};

culv_result culvi_cig_create(culvi_graphics *graphics, const culvi_cig_source *source,
                             const char *label, culv_cig **out)
{
    culv_device *device = graphics->device;
    culv_result result = CULV_ERROR_OUT_OF_MEMORY;
    culv_cig *cig = culvi_alloc(sizeof *cig);
    if (cig == NULL) {
        (void)culvi_fail_host_memory(&device->voice, label);
        goto end_source;
    }
    result =
        culvi_cig_make(device, label, source->attribute, source->type, source->data, &cig->context);
    if (result != CULV_OK) goto free_cig;
    cig->graphics = graphics;
    cig->object = source->object;
    cig->end = source->end;
    culvi_label_set(cig->label, label);
    culvi_graphics_ref(graphics);
    culvi_graphics_count_created(graphics, true);
    culvi_log_object(&device->voice, "made", "CIG context", cig->label, 0);
    *out = cig;
    return CULV_OK;

free_cig:
    culvi_free(cig);
end_source:
    if (source->end != NULL) source->end(graphics, source->object);
    return result;
}

CUcontext culv_cig_context(const culv_cig *cig)
{
    return cig != NULL ? cig->context : NULL;
}

void culv_cig_destroy(culv_cig **cig)
{
    if (cig == NULL || *cig == NULL) return;
    culv_cig *mine = *cig;
    culvi_graphics *graphics = mine->graphics;
    *cig = NULL;
    culvi_log_object(&graphics->device->voice, "destroyed", "CIG context", mine->label, 0);
    culvi_cig_unmake(graphics->device, mine->context);
    if (mine->end != NULL) mine->end(graphics, mine->object);
    culvi_free(mine);
    culvi_graphics_count_created(graphics, false);
    culvi_graphics_unref(graphics);
}
