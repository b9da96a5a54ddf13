/* SPDX-License-Identifier: MIT */
/* culvert-rig.dll in any program: the first device of each version gets the overlay.
 * culvert-rig.exe loads this library before the program runs. Linked, as by the tests, it does the
 * same. */
#include "overlay.h"
#include "overlay11.h"
#include "part.h"

#include <stdlib.h>
#include <string.h>

enum { JUMP = 12 }; /* movabs rax, address; jmp rax */

typedef struct hook {
    unsigned char before[JUMP], after[JUMP];
    void *at;
} hook;

static CRITICAL_SECTION lock; /* recursive: one function may call the other */
static hook hook12, hook11, hook11_chain;

static void write_code(const hook *h, const unsigned char *code)
{
    DWORD protection;
    VirtualProtect(h->at, JUMP, PAGE_EXECUTE_READWRITE, &protection);
    memcpy(h->at, code, JUMP);
    VirtualProtect(h->at, JUMP, protection, &protection);
    FlushInstructionCache(GetCurrentProcess(), h->at, JUMP);
}

static void set_hook(hook *h, HMODULE module, const char *name, void (*function)(void))
{
    static const unsigned char load[] = {0x48, 0xb8}, jump[] = {0xff, 0xe0};
    const FARPROC found = GetProcAddress(module, name);
    memcpy(&h->at, &found, sizeof found);
    if (h->at == NULL) return;
    memcpy(h->before, h->at, JUMP);
    memcpy(h->after, load, sizeof load);
    memcpy(h->after + 2, &function, sizeof function);
    memcpy(h->after + 10, jump, sizeof jump);
    write_code(h, h->after);
}

/* All devices of one version have one table, so what was done once is done. Until a device was
 * made, the jump goes back in. */
static void enter(const hook *h)
{
    EnterCriticalSection(&lock);
    write_code(h, h->before);
}

static void leave(const hook *h, bool made)
{
    if (!made) write_code(h, h->after);
    LeaveCriticalSection(&lock);
}

/* Beside this library: by it Direct3D 12 opens CUDA's memory. Before there is a device. */
static void load_host(void)
{
    char path[MAX_PATH] = "";
    HMODULE self = NULL;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                           GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                       (const char *)(void *)&lock, &self);
    GetModuleFileNameA(self, path, sizeof path - 32);
    char *last = strrchr(path, '\\');
    if (last == NULL) return;
    strcpy(last + 1, "host\\vulkan-1.dll");
    overlay_load_host(path);
}

static HRESULT WINAPI create12(IUnknown *adapter, D3D_FEATURE_LEVEL level, REFIID id, void **out)
{
    static const GUID iid_device = {
        0x189819f1, 0x1db6, 0x4b57, {0xbe, 0x54, 0x18, 0x21, 0x33, 0x9b, 0x85, 0xf7}};
    enter(&hook12);
    load_host();
    const HRESULT hr = D3D12CreateDevice(adapter, level, id, out);
    ID3D12Device *device = NULL;
    const bool made =
        SUCCEEDED(hr) && out != NULL && *out != NULL &&
        SUCCEEDED(IUnknown_QueryInterface((IUnknown *)*out, &iid_device, (void **)&device));
    if (made) {
        overlay_install(device);
        ID3D12Device_Release(device);
    }
    leave(&hook12, made);
    return hr;
}

static bool install11(HRESULT hr, ID3D11Device **device)
{
    ID3D11DeviceContext *context = NULL;
    if (FAILED(hr) || device == NULL || *device == NULL) return false;
    ID3D11Device_GetImmediateContext(*device, &context);
    overlay11_install(*device, context);
    ID3D11DeviceContext_Release(context);
    return true;
}

static HRESULT WINAPI create11(IDXGIAdapter *adapter, D3D_DRIVER_TYPE type, HMODULE module,
                               UINT flags, const D3D_FEATURE_LEVEL *levels, UINT count,
                               UINT version, ID3D11Device **device, D3D_FEATURE_LEVEL *level,
                               ID3D11DeviceContext **context)
{
    enter(&hook11);
    const HRESULT hr = D3D11CreateDevice(adapter, type, module, flags, levels, count, version,
                                         device, level, context);
    leave(&hook11, install11(hr, device));
    return hr;
}

static HRESULT WINAPI create11_chain(IDXGIAdapter *adapter, D3D_DRIVER_TYPE type, HMODULE module,
                                     UINT flags, const D3D_FEATURE_LEVEL *levels, UINT count,
                                     UINT version, const DXGI_SWAP_CHAIN_DESC *desc,
                                     IDXGISwapChain **chain, ID3D11Device **device,
                                     D3D_FEATURE_LEVEL *level, ID3D11DeviceContext **context)
{
    enter(&hook11_chain);
    const HRESULT hr = D3D11CreateDeviceAndSwapChain(adapter, type, module, flags, levels, count,
                                                     version, desc, chain, device, level, context);
    leave(&hook11_chain, install11(hr, device));
    return hr;
}

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved);
BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
    (void)self, (void)reserved;
    if (reason != DLL_PROCESS_ATTACH) return TRUE;
    InitializeCriticalSection(&lock);
    set_hook(&hook12, GetModuleHandleA("d3d12.dll"), "D3D12CreateDevice", (void (*)(void))create12);
    set_hook(&hook11, GetModuleHandleA("d3d11.dll"), "D3D11CreateDevice", (void (*)(void))create11);
    set_hook(&hook11_chain, GetModuleHandleA("d3d11.dll"), "D3D11CreateDeviceAndSwapChain",
             (void (*)(void))create11_chain);
    return TRUE;
}
