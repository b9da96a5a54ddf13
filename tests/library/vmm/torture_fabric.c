/* SPDX-License-Identifier: MIT */
/* Torture of fabric handles, of memory and of pools: tried, exported and imported. */
#include "torture.h"

#include <culvert/fabric.h>

enum { BYTES = 2 << 20, FEW = 65536 };

static void begin(void)
{
    lib_with_option("--validation=off");
    torture.w.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 1);
    torture.w.cu->SoftPlayFabric(1);
}

static void run(void)
{
    lib_world *w = &torture.w;
    culv_vmm_allocation *made = POISON(culv_vmm_allocation), *in = made;
    const culv_handle none = {0};
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_import_desc i = culv_vmm_import_desc_init();
    d.size = i.size = BYTES;
    d.fabric = CULV_FABRIC_REQUIRED;
    CUstream stream = torture_open();
    TRY_AGAIN(culv_vmm_allocation_create(w->device, &d, &made),
              made == POISON(culv_vmm_allocation));
    TRY_AGAIN(culv_check_fabric(w->device), true);
    TRY_AGAIN(culv_vmm_export_dup(made, CULV_HANDLE_FABRIC, &i.handle),
              memcmp(&i.handle, &none, sizeof none) == 0);
    TRY_AGAIN(culv_vmm_import(w->device, &i, &in), in == POISON(culv_vmm_allocation));
    DO(culv_vmm_allocation_destroy(&in));
    DO(culv_vmm_allocation_destroy(&made));
    REQUIRE(in == NULL && made == NULL);
    torture_close(stream);
}

/* With `tried` it may fall back to file descriptors; what it says to be is what it is. */
static void share_pool(culv_fabric fabric, CUstream stream)
{
    lib_world *w = &torture.w;
    culv_mem_pool *made = POISON(culv_mem_pool), *in = made;
    const culv_handle none = {0};
    culv_mem_pool_pointer sent;
    CUdeviceptr at = 77, there = 77;
    culv_mem_pool_import_desc i = culv_mem_pool_import_desc_init();
    culv_mem_pool_desc d = culv_mem_pool_desc_init();
    d.fabric = fabric;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    d.release_threshold = 1 << 20;
    TRY_AGAIN(culv_mem_pool_create(w->device, &d, &made), made == POISON(culv_mem_pool));
    if (lib_pool(made).handle_types & 1u << CULV_HANDLE_FABRIC) {
        TRY_AGAIN(culv_mem_pool_export_dup(made, CULV_HANDLE_FABRIC, &i.handle),
                  memcmp(&i.handle, &none, sizeof none) == 0);
        at = lib_pool_alloc(w, made, FEW, stream);
        TRY_AGAIN(culv_mem_pool_export_pointer(made, at, &sent), true);
        TRY_AGAIN(culv_mem_pool_import(w->device, &i, &in), in == POISON(culv_mem_pool));
        TRY_AGAIN(culv_mem_pool_import_pointer(in, &sent, &there), there == 77);
        lib_pool_free(w, there, stream);
        lib_pool_free(w, at, stream);
        lib_finish(w, stream);
        DO(culv_mem_pool_destroy(&in));
        REQUIRE(in == NULL);
    } else if (fabric == CULV_FABRIC_REQUIRED) {
        torture_complain("a pool without the fabric handle that was required");
    }
    DO(culv_mem_pool_destroy(&made));
    REQUIRE(made == NULL);
}

static void run_pools(void)
{
    CUstream stream = torture_open();
    share_pool(CULV_FABRIC_REQUIRED, stream);
    share_pool(CULV_FABRIC_TRY, stream);
    torture_close(stream);
}

static const torture_path path = {.begin = begin, .run = run, .least = {8, 0, 2}};
TORTURE_CASES("fabric", path)
static const torture_path pools = {.begin = begin, .run = run_pools, .least = {25, 0, 4}};
TORTURE_CASES("fabric_pools", pools)
