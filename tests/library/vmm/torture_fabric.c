/* SPDX-License-Identifier: MIT */
/* Torture of fabric handles: tried, exported and imported. */
#include "torture.h"

#include <culvert/fabric.h>
#include <string.h>

enum { BYTES = 2 << 20 };

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
    culv_fabric_handle bytes, none;
    memset(&bytes, 0, sizeof bytes);
    memset(&none, 0, sizeof none);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_import_desc i = culv_vmm_import_desc_init();
    d.size = i.size = BYTES;
    d.fabric = CULV_FABRIC_REQUIRED;
    lib_open_culvert(w);
    TRY_AGAIN(culv_vmm_allocation_create(w->device, &d, &made),
              made == POISON(culv_vmm_allocation));
    TRY_AGAIN(culv_check_fabric(w->device), true);
    TRY_AGAIN(culv_vmm_export_fabric(made, &bytes), memcmp(&bytes, &none, sizeof none) == 0);
    TRY_AGAIN(culv_vmm_import_fabric(w->device, &bytes, &i, &in),
              in == POISON(culv_vmm_allocation));
    DO(culv_vmm_allocation_destroy(&in));
    DO(culv_vmm_allocation_destroy(&made));
    REQUIRE(in == NULL && made == NULL);
    DO(culv_vk_detach(&w->attachment));
    DO(culv_device_close(&w->device));
}

static const torture_path path = {.begin = begin, .run = run, .least = {8, 0, 2}};
TORTURE_FUNCTIONS(path)

static const test_case cases[] = {TORTURE_ROWS("fabric", path), {.name = NULL}};
TEST_SUITE(cases);
