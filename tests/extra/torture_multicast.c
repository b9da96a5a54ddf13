/* SPDX-License-Identifier: MIT */
/* Torture of multicast objects: made, their devices, bound, mapped, imported, given up. */
#include "torture.h"

#include "culvert/extra/multicast.h"

#define CHUNK ((uint64_t)2 << 20)

static culv_device *second;

static void begin(void)
{
    lib_with_option(
        "--validation=off"); /* the layer makes calls of its own, and no Vulkan is used */
    lib_with_environment("CULVERT_SOFT_DEVICES", "2");
    torture.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
}

static void import(culv_vmm_allocation *plain)
{
    lib_world *w = &torture.w;
    culv_multicast *imported = POISON(culv_multicast);
    culv_handle handle;
    LIB_OK(culv_vmm_export_dup(plain, CULV_HANDLE_OPAQUE_FD, &handle));
    culv_multicast_import_desc d = culv_multicast_import_desc_init();
    d.handle = handle;
    d.num_devices = 2;
    d.opt_in = 1;
    d.size = CHUNK;
    lib_fd watched = lib_fd_watch(handle.value.fd);
    TRY_AGAIN(culv_multicast_import(w->device, &d, &imported),
              (lib_fd_require_untouched(&watched), imported == POISON(culv_multicast)));
    lib_fd_done(&watched, true);
    DO(culv_multicast_destroy(&imported));
}

static void use(culv_multicast *object, culv_vmm_allocation *const memory[2])
{
    lib_world *w = &torture.w;
    culv_vmm_range *range = NULL;
    const culv_vmm_range_desc rd = {.struct_size = sizeof rd, .size = CHUNK};
    TRY_AGAIN(culv_multicast_add_device(object, w->device),
              lib_allocation(culv_multicast_allocation(object)).missing_devices == 2);
    TRY_AGAIN(culv_multicast_add_device(object, second),
              lib_allocation(culv_multicast_allocation(object)).missing_devices == 1);
    TRY_AGAIN(culv_multicast_bind(object, 0, memory[0], 0, CHUNK), true);
    TRY_AGAIN(culv_multicast_bind(object, 0, memory[1], 0, CHUNK), true);
    LIB_OK(culv_vmm_range_create(w->device, &rd, &range));
    LIB_OK(culv_vmm_map(range, 0, memory[0], NULL, 0));
    TRY_AGAIN(
        culv_multicast_bind_address(object, CHUNK, w->device, culv_vmm_range_pointer(range), CHUNK),
        true);
    TRY_AGAIN(culv_multicast_unbind(object, CHUNK, w->device, CHUNK), true);
    LIB_OK(culv_vmm_unmap(range, 0, CHUNK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_vmm_allocation *memory[2] = {NULL, NULL};
    culv_multicast *object = POISON(culv_multicast);
    uint64_t least = 77, best = 77;
    CUstream stream = torture_open();
    LIB_OK(culv_device_open_by_ordinal(1, NULL, &second));
    culv_vmm_allocation_desc md = culv_vmm_allocation_desc_init();
    md.size = CHUNK;
    md.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    LIB_OK(culv_vmm_allocation_create(w->device, &md, &memory[0]));
    LIB_OK(culv_vmm_allocation_create(second, &md, &memory[1]));
    culv_multicast_desc d = culv_multicast_desc_init();
    d.num_devices = 2;
    d.opt_in = 1;
    d.size = 2 * CHUNK;
    TRY_AGAIN(culv_multicast_get_granularity(w->device, &d, &least, &best),
              least == 77 && best == 77);
    TRY_AGAIN(culv_multicast_create(w->device, &d, &object), object == POISON(culv_multicast));
    use(object, memory);
    import(memory[0]);
    DO(culv_multicast_destroy(&object));
    REQUIRE(object == NULL);
    culv_vmm_allocation_destroy(&memory[0]);
    culv_vmm_allocation_destroy(&memory[1]);
    culv_device_close(&second); /* before the other one, whose context may be given up for lost */
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .least = {15, 0, 4}};
TORTURE_CASES("multicast", path)
