/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: its devices on Windows are the adapters that DXGI lists, by their LUIDs.
 * Their UUIDs are invented. */
#include "soft.h"

#define COBJMACROS
#include <windows.h>
/* after it */
#include <dxgi.h>
#include <stdio.h>
#include <string.h>

static const GUID factory_id = {
    0x770aae78, 0xf26f, 0x4dba, {0xa8, 0x29, 0x25, 0x3c, 0x83, 0xd1, 0xb3, 0x87}};

static void read_adapter(IDXGIAdapter1 *adapter, int ordinal, struct soft_found_device *out)
{
    DXGI_ADAPTER_DESC1 desc;
    memset(&desc, 0, sizeof(desc));
    if (SUCCEEDED(IDXGIAdapter1_GetDesc1(adapter, &desc))) {
        _Static_assert(sizeof(desc.AdapterLuid) == sizeof(out->luid), "a LUID has 8 bytes");
        memcpy(out->luid, &desc.AdapterLuid, sizeof(out->luid));
        out->has_luid = true;
    }
    snprintf(out->name, sizeof(out->name), "%ls", desc.Description);
    memcpy(out->uuid, "culvert\0windows", 15);
    out->uuid[15] = (uint8_t)(0xb0 + ordinal);
}

int soft_vulkan_devices(struct soft_found_device *found, int capacity)
{
    HRESULT(WINAPI * create)(REFIID, void **) = NULL;
    IDXGIFactory1 *factory = NULL;
    IDXGIAdapter1 *adapter = NULL;
    int count = 0;
    HMODULE dxgi = LoadLibraryExA("dxgi.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    FARPROC proc = dxgi != NULL ? GetProcAddress(dxgi, "CreateDXGIFactory1") : NULL;
    memcpy(&create, &proc, sizeof(create));
    if (create == NULL || FAILED(create(&factory_id, (void **)&factory))) return 0;
    while (count < capacity &&
           SUCCEEDED(IDXGIFactory1_EnumAdapters1(factory, (UINT)count, &adapter))) {
        read_adapter(adapter, count, &found[count]);
        IDXGIAdapter1_Release(adapter);
        count++;
    }
    IDXGIFactory1_Release(factory);
    return count;
}
