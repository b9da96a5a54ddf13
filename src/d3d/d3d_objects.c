/* SPDX-License-Identifier: MIT */
/* Memory, textures and fences of Direct3D 11 and 12: the caller's, those that Culvert makes, and
 * shared twins of textures that cannot be shared. */
#include "d3d/d3d_attach.h"
/* after it */
#include "core/semaphore.h"

/* A field that one API alone has. */
typedef struct field {
    bool set;
    const culvi_d3d_api *of;
    const char *name;
} field;

static culv_result check_fields(const culv_d3d_device *d3d, const char *label, const char *desc,
                                const field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CULVI_REFUSE_IF(fields[i].set && fields[i].of != d3d->of, d3d->voice, label,
                        CULV_REASON_VALUE, "%s.%s is %s's, and the device is an %s; leave it 0",
                        desc, fields[i].name, fields[i].of->graphics->words->name,
                        d3d->of->device_name);
    return CULV_OK;
}

/* Refuses such fields of the other API, each of which is a FIELD(). */
#define CHECK_FIELDS(d3d, type, local, ...)                                                        \
    do {                                                                                           \
        const field fields[] = {__VA_ARGS__};                                                      \
        CULVI_TRY(                                                                                 \
            check_fields((d3d), (local).label, #type, fields, sizeof fields / sizeof fields[0]));  \
    } while (0)
#define FIELD(api, local, name)                                                                    \
    {                                                                                              \
        (local).name != 0, &culvi_d3d##api, #name                                                  \
    }

/* The caller's memory -------------------------------------------------------------------------- */

culv_result culv_d3d_memory_import(culv_d3d_device *d3d, const culv_d3d_memory_desc *desc,
                                   culv_memory **out)
{
    culvi_memory_ask ask = {.callers_buffers = false};
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, desc, out);
    CULVI_READ(d3d->voice, culv_d3d_memory_desc, d, desc);
    CULVI_REQUIRE_FIELD(d3d->voice, culv_d3d_memory_desc, d, object);
    CHECK_FIELDS(d3d, culv_d3d_memory_desc, d, FIELD(11, d, size));
    ask.label = d.label;
    CULVI_TRY(d3d->of->ask_memory(d3d, &d, &ask));
    return d.shared ? culvi_graphics_acquire(&d3d->base, &ask, out)
                    : culvi_graphics_import(&d3d->base, &ask, out);
}

/* Refuses a resource that is not the one whose memory this is. Memory of a heap, or that came by a
 * handle, cannot tell. */
static culv_result check_resource(const culv_memory *memory, void *resource, const char *label)
{
    const uint64_t identity = culvi_d3d_identity(resource);
    if (memory->identity == 0 || identity == 0 || memory->identity == identity) return CULV_OK;
    return culvi_fail(
        &memory->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
        "culv_d3d_image_desc.resource is another resource than the one whose memory was imported%s%s: CUDA would read and write that one in its place. Import the memory of each resource, and map it with the same one",
        memory->label[0] != '\0' ? " as " : "", memory->label);
}

culv_result culv_d3d_image_map(culv_d3d_device *d3d, culv_memory *memory,
                               const culv_d3d_image_desc *desc, culv_image **out)
{
    culv_image_desc map;
    void *resource = NULL;
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, memory, desc);
    CULVI_REQUIRE(d3d->voice, out);
    CULVI_READ(d3d->voice, culv_d3d_image_desc, d, desc);
    CULVI_REQUIRE_FIELD(d3d->voice, culv_d3d_image_desc, d, resource);
    CHECK_FIELDS(d3d, culv_d3d_image_desc, d, FIELD(12, d, offset));
    CULVI_TRY(CULVI_D3D_AS(d3d, d.label, d.resource, resource, &resource));
    CULVI_TRY(check_resource(memory, resource, d.label));
    const culvi_d3d_texture texture = d3d->of->texture_of(resource);
    const culvi_d3d_view view = {.desc = "culv_d3d_image_desc",
                                 .label = d.label,
                                 .offset = d.offset,
                                 .cube = d.cube != 0,
                                 .format = d.format,
                                 .texels = d.texels,
                                 .no_surfaces = d.no_surfaces != 0};
    CULVI_TRY(culvi_d3d_describe_image(d3d->voice, &texture, &view, &map));
    return culv_image_map(memory, &map, out);
}

/* Memory that Culvert makes -------------------------------------------------------------------- */

culv_result culvi_d3d_plan(culvi_graphics *graphics, culvi_plan *plan)
{
    const culvi_d3d_made *what = plan->desc;
    plan->dedicated = true;
    plan->size = what->size;
    return plan->is_image ? culvi_d3d_describe_image(&graphics->device->voice, &what->texture,
                                                     &what->view, &plan->image)
                          : CULV_OK;
}

culvi_native culvi_d3d_native(void *resource, uint64_t size, bool is_image)
{
    const uint64_t number = (uint64_t)(uintptr_t)resource;
    return (culvi_native){
        .object = number, .memory = number, .size = size, .is_image = is_image, .dedicated = true};
}

void culvi_d3d_unmake(culvi_graphics *graphics, const culvi_native *native)
{
    IUnknown *resource = culvi_d3d_object(native->object);
    (void)graphics;
    if (resource != NULL) IUnknown_Release(resource);
}

culv_result culvi_d3d_make_buffer(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *d,
                                  const void *native, culv_shared_buffer **out)
{
    const culvi_d3d_made what = {.size = d->size, .native = native};
    culvi_plan plan = {
        .label = d->label, .desc = &what, .desc_name = "culv_d3d_buffer_create_desc"};
    return culvi_shared_buffer_create(&d3d->base, &plan, out);
}

culv_result culvi_d3d_make_image(culv_d3d_device *d3d, const culv_d3d_image_create_desc *d,
                                 const char *name, culvi_d3d_texture texture, const void *native,
                                 culv_shared_image **out)
{
    const culvi_d3d_made what = {.texture = texture,
                                 .native = native,
                                 .view = {.desc = name,
                                          .label = d->label,
                                          .cube = d->cube != 0,
                                          .format = d->format,
                                          .texels = d->texels,
                                          .no_surfaces = d->no_surfaces != 0}};
    culvi_plan plan = {.label = d->label, .desc = &what, .desc_name = name};
    return culvi_shared_image_create(&d3d->base, &plan, out);
}

culv_result culv_d3d_buffer_create(culv_d3d_device *d3d, const culv_d3d_buffer_create_desc *desc,
                                   culv_shared_buffer **out)
{
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, desc, out);
    CULVI_READ(d3d->voice, culv_d3d_buffer_create_desc, d, desc);
    CHECK_FIELDS(d3d, culv_d3d_buffer_create_desc, d, FIELD(12, d, resource_flags),
                 FIELD(11, d, bind_flags), FIELD(11, d, misc_flags), FIELD(11, d, stride),
                 FIELD(11, d, keyed_mutex), FIELD(11, d, kmt));
    return d3d->of->create_buffer(d3d, &d, out);
}

culv_result culv_d3d_image_create(culv_d3d_device *d3d, const culv_d3d_image_create_desc *desc,
                                  culv_shared_image **out)
{
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, desc, out);
    CULVI_READ(d3d->voice, culv_d3d_image_create_desc, d, desc);
    CHECK_FIELDS(d3d, culv_d3d_image_create_desc, d, FIELD(12, d, resource_desc),
                 FIELD(11, d, texture_desc), FIELD(11, d, keyed_mutex), FIELD(11, d, kmt));
    return d3d->of->create_image(d3d, &d, "culv_d3d_image_create_desc", out);
}

/* The resource of either API. NULL for another back-end's. */
static IUnknown *resource_of(const culvi_pair *pair)
{
    const culvi_graphics_api *api = pair->graphics->api;
    const bool ours = api == culvi_d3d11.graphics || api == culvi_d3d12.graphics;
    return ours ? culvi_d3d_object(pair->native.object) : NULL;
}

CULVI_GETTER(IUnknown *, culv_d3d_buffer_resource, culv_shared_buffer, resource_of(&self->pair),
             NULL)
CULVI_GETTER(IUnknown *, culv_d3d_image_resource, culv_shared_image, resource_of(&self->pair), NULL)

/* Fences --------------------------------------------------------------------------------------- */

static void release_fence(void *fence)
{
    IUnknown_Release((IUnknown *)fence);
}

culv_result culv_d3d_semaphore_import(culv_d3d_device *d3d, IUnknown *fence, const char *label,
                                      culv_semaphore **out)
{
    culv_semaphore_desc d = culv_semaphore_desc_init();
    void *as = NULL;
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, fence, out);
    d.type = CULV_SEMAPHORE_TIMELINE;
    d.label = label;
    CULVI_TRY(CULVI_D3D_AS(d3d, label, fence, fence, &as));
    CULVI_TRY(culvi_graphics_import_semaphore(&d3d->base, (uint64_t)(uintptr_t)as, &d,
                                              "culv_d3d_semaphore_import()", out));
    IUnknown_AddRef((IUnknown *)as);
    (*out)->present.read = d3d->of->read_fence;
    (*out)->present.release = release_fence;
    (*out)->present.context = as;
    return CULV_OK;
}

culv_result culv_d3d_semaphore_create(culv_d3d_device *d3d,
                                      const culv_d3d_semaphore_create_desc *desc,
                                      culv_shared_semaphore **out)
{
    CULVI_REQUIRE_WITH(d3d, d3d->voice, out);
    CULVI_READ(d3d->voice, culv_d3d_semaphore_create_desc, d, desc);
    CHECK_FIELDS(d3d, culv_d3d_semaphore_create_desc, d, FIELD(12, d, fallback));
    culvi_semaphore_plan plan = {.label = d.label,
                                 .desc_name = "culv_d3d_semaphore_create_desc",
                                 .fallback = d.fallback,
                                 .type = CULV_SEMAPHORE_TIMELINE,
                                 .initial_value = d.initial_value};
    CULVI_TRY(culvi_shared_semaphore_create(&d3d->base, &plan, out));
    culv_semaphore *cuda = (*out)->pair.cuda;
    cuda->present.read = d3d->of->read_fence; /* the pair holds the fence while there are signals */
    cuda->present.context = culvi_d3d_object((*out)->pair.native);
    return CULV_OK;
}

IUnknown *culv_d3d_semaphore_fence(const culv_shared_semaphore *semaphore)
{
    const uint64_t of_11 = culvi_semaphore_half(semaphore, culvi_d3d11.graphics);
    return culvi_d3d_object(of_11 != 0 ? of_11
                                       : culvi_semaphore_half(semaphore, culvi_d3d12.graphics));
}

/* Shadows -------------------------------------------------------------------------------------- */

culv_result culv_d3d_shadow_create(culv_d3d_device *d3d, const culv_d3d_shadow_desc *desc,
                                   culv_d3d_shadow **out)
{
    culv_d3d_image_create_desc make = culv_d3d_image_create_desc_init();
    void *resource = NULL;
    CULVI_REQUIRE_WITH2(d3d, d3d->voice, desc, out);
    CULVI_READ(d3d->voice, culv_d3d_shadow_desc, d, desc);
    CULVI_REQUIRE_FIELD(d3d->voice, culv_d3d_shadow_desc, d, resource);
    CHECK_FIELDS(d3d, culv_d3d_shadow_desc, d, FIELD(11, d, keyed_mutex));
    CULVI_TRY(CULVI_D3D_AS(d3d, d.label, d.resource, resource, &resource));
    make.cube = d.cube;
    make.format = d.format;
    make.texels = d.texels;
    make.no_surfaces = d.no_surfaces;
    make.keyed_mutex = d.keyed_mutex;
    make.label = d.label;
    CULVI_NEW(culv_d3d_shadow, shadow, d3d->voice, d.label);
    shadow->d3d = d3d;
    shadow->resource = resource;
    shadow->levels = 1;
    CULVI_TRY_OR(d3d->of->create_twin(shadow, &make, "culv_d3d_shadow_desc"), culvi_free(shadow));
    culvi_pair_set_owner(&shadow->image->pair, "culv_d3d_shadow_destroy");
    culvi_label_set(shadow->label, d.label);
    culvi_graphics_ref(&d3d->base);
    IUnknown_AddRef((IUnknown *)resource);
    culvi_log(
        d3d->voice, CULV_LOG_WARNING,
        "texture '%s' is shadowed: CUDA sees a twin of %s, and each frame that needs it costs a copy on the GPU; create it with %s%s where you can",
        shadow->label, shadow->levels > 1 ? "its first level" : "it", d3d->of->unshared,
        shadow->levels > 1 ? " and one level" : "");
    *out = shadow;
    return CULV_OK;
}

culv_result culv_d3d_shadow_record(culv_d3d_shadow *shadow, IUnknown *commands, uint32_t state,
                                   culv_bool from_twin)
{
    void *as = NULL;
    CULVI_REQUIRE(NULL, shadow);
    const culv_d3d_device *d3d = shadow->d3d;
    CULVI_REQUIRE(d3d->voice, commands);
    CULVI_TRY(CULVI_D3D_AS(d3d, shadow->label, commands, commands, &as));
    return d3d->of->record(shadow, as, state, from_twin != 0);
}

CULVI_GETTER(const culv_shared_image *, culv_d3d_shadow_image, culv_d3d_shadow, self->image, NULL)

void culv_d3d_shadow_destroy(culv_d3d_shadow **shadow)
{
    CULVI_TAKE(culv_d3d_shadow, mine, shadow);
    culvi_pair_destroy(&mine->image->pair, NULL);
    IUnknown_Release((IUnknown *)mine->resource);
    culvi_graphics_unref(&mine->d3d->base);
    culvi_free(mine);
}
