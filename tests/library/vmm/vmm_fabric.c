/* SPDX-License-Identifier: MIT */
/* Fabric handles, which the twin plays: with an IMEX channel, and with an attribute that lies. */
#define TEST_GROUP "fabric."
#include "vmm_stage.h"

#include <culvert/fabric.h>

enum { WORDS = 1000, FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD, FABRIC_BIT = 1 << CULV_HANDLE_FABRIC };

void vmm_open_fabric(vmm_stage *s, int attribute, int channel)
{
    const raw_cuda *cu = lib_driver();
    if (!cu->software) SKIP("IMEX channels are played on the twin");
    cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, attribute);
    cu->SoftPlayFabric(channel);
    vmm_stage_open(s);
}

static culv_vmm_allocation_desc wanted(culv_fabric fabric, uint32_t handle_types)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = 2 * VMM_BLOCK;
    d.fabric = fabric;
    d.handle_types = handle_types;
    d.label = "woven";
    return d;
}

static culv_vmm_import_desc come_in(const culv_handle *handle, uint64_t size)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    d.handle = culv_handle_fabric(handle->value.fabric);
    d.size = size;
    d.label = "came in";
    return d;
}

/* Out and in again: the same memory, which the import keeps. */
VMM_FABRIC_CASE(1, 1, both_ways)
{
    const raw_cuda *cu = s->w.cu;
    culv_vmm_allocation *made = NULL, *imported = NULL;
    culv_handle handle = {0}, fd = {0};
    culv_vmm_range *range = vmm_range(s, 4);
    const culv_vmm_allocation_desc d = wanted(CULV_FABRIC_REQUIRED, FD_BIT);
    LIB_OK(culv_check_fabric(s->w.device));
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &made));
    REQUIRE_EQ(lib_allocation(made).handle_types, FD_BIT | FABRIC_BIT);
    LIB_OK(culv_vmm_map(range, 0, made, NULL, 0));
    vmm_write(s->w.device, cu, vmm_address(range, 0), WORDS, 1);
    LIB_OK(culv_vmm_export_dup(made, CULV_HANDLE_FABRIC, &handle));
    REQUIRE_EQ(handle.type, CULV_HANDLE_FABRIC);
    LIB_OK(culv_vmm_export_dup(made, CULV_HANDLE_OPAQUE_FD, &fd));
    culv_handle_close(&fd);
    culv_vmm_import_desc in = come_in(&handle, 2 * VMM_BLOCK);
    in.exporter = lib_allocation(made).device;
    LIB_OK(culv_vmm_import(s->w.device, &in, &imported));
    REQUIRE(lib_allocation(imported).imported && lib_allocation(imported).handle_types == 0);
    REQUIRE_EQ(lib_allocation(imported).mappings, 0);
    vmm_require_counts(s, 2, 1, 1);
    LIB_OK(culv_vmm_map(range, 2 * VMM_BLOCK, imported, NULL, 0));
    vmm_require_words(s->w.device, cu, vmm_address(range, 2), WORDS, 1);
    vmm_write(s->w.device, cu, vmm_address(range, 2), WORDS, 2);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), WORDS, 2);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL));
    culv_vmm_allocation_destroy(&made);
    culv_vmm_allocation_destroy(&imported);
    LIB_OK(culv_vmm_range_destroy(&range));
}

/* As on an H200 without an IMEX channel: the attribute is 1, and nothing works. */
VMM_FABRIC_CASE(1, 0, lying)
{
    culv_vmm_allocation *made = NULL;
    culv_handle handle = {0};
    REQUIRE(lib_caps(s->w.device).vmm_fabric);
    LIB_ERROR(culv_check_fabric(s->w.device), UNSUPPORTED, HANDLE_TYPE, "IMEX channel");
    culv_vmm_allocation_desc d = wanted(CULV_FABRIC_REQUIRED, FD_BIT);
    LIB_REFUSES(made, culv_vmm_allocation_create(s->w.device, &d, &made), UNSUPPORTED, HANDLE_TYPE);
    d.fabric = CULV_FABRIC_TRY; /* falls back to file descriptors */
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &made));
    REQUIRE_EQ(lib_allocation(made).handle_types, FD_BIT);
    LIB_INVALID(culv_vmm_export_dup(made, CULV_HANDLE_FABRIC, &handle), NOT_EXPORTABLE,
                "culv_check_fabric()");
    culv_vmm_allocation_destroy(&made);
    lib_driver()->SoftPlayFabric(1); /* a channel comes */
    LIB_OK(culv_check_fabric(s->w.device));
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &made));
    REQUIRE_EQ(lib_allocation(made).handle_types, FD_BIT | FABRIC_BIT);
    culv_vmm_allocation_destroy(&made);
}

VMM_FABRIC_CASE(0, 1, none)
{
    LIB_ERROR(culv_check_fabric(s->w.device), UNSUPPORTED, HANDLE_TYPE, "vmm_fabric is 0");
}

VMM_FABRIC_CASE(1, 1, refused)
{
    culv_device *device = s->w.device;
    culv_vmm_allocation *made = NULL, *out = NULL, *plain = vmm_allocation(s, 1, FD_BIT);
    culv_handle handle = {0}, spoiled;
    culv_vmm_allocation_desc d = wanted(CULV_FABRIC_REQUIRED, 0);
    LIB_OK(culv_vmm_allocation_create(device, &d, &made));
    LIB_OK(culv_vmm_export_dup(made, CULV_HANDLE_FABRIC, &handle));
    culv_vmm_import_desc in = come_in(&handle, 2 * VMM_BLOCK);
#define NO(call, ...) LIB_REFUSES(out, call, INVALID, __VA_ARGS__)
    d.fabric = (culv_fabric)3;
    NO(culv_vmm_allocation_create(device, &d, &out), VALUE);
    in.size = 0;
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in.size = 2 * VMM_BLOCK + 4096; /* no multiple of the granularity */
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in.size = VMM_BLOCK; /* less than there is */
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in.size = 4 * VMM_BLOCK; /* more than there is */
    NO(culv_vmm_import(device, &in, &out), SIZE);
    in = come_in(&handle, 2 * VMM_BLOCK);
    memset(in.exporter.bytes, 7, sizeof in.exporter.bytes);
    NO(culv_vmm_import(device, &in, &out), DEVICE_MISMATCH);
#undef NO
    memset(&spoiled, 0x5a, sizeof spoiled);
    in = come_in(&spoiled, 2 * VMM_BLOCK);
    LIB_REFUSES(out, culv_vmm_import(device, &in, &out), DRIVER, HANDLE_REFUSED);
    spoiled = handle;
    LIB_INVALID(culv_vmm_export_dup(plain, CULV_HANDLE_FABRIC, &handle), NOT_EXPORTABLE);
    REQUIRE_EQ_BYTES(&handle, &spoiled, sizeof handle);
    culv_vmm_allocation_desc bits = culv_vmm_allocation_desc_init();
    bits.size = 1;
    bits.handle_types = FABRIC_BIT;
    LIB_REFUSES(out, culv_vmm_allocation_create(device, &bits, &out), UNSUPPORTED, HANDLE_TYPE,
                "culv_vmm_allocation_desc.fabric");
    vmm_require_counts(s, 2, 0, 0);
    culv_vmm_allocation_destroy(&made);
    culv_vmm_allocation_destroy(&plain);
}
