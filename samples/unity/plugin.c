/* SPDX-License-Identifier: MIT */
/* A plug-in for an engine, in the shape of Unity's: in each frame CUDA inverts the colours of a
 * texture of the engine's. The engine made it, TYPELESS and without a flag of sharing, so CUDA has
 * a shared twin of it, and Direct3D copies both ways. One fence orders both sides. All Direct3D is
 * done in the render event, on the engine's render thread, by its immediate context. */
#define CULV_EXPERIMENTAL 1
#define COBJMACROS
#include <windows.h>
/* after it */
#include <d3d11_4.h>

#include "host.h"

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/d3d.h>

#include <stdio.h>
#include <string.h>

static const GUID iid_context4 = {
    0x917600da, 0xf58c, 0x4c33, {0x98, 0xd8, 0x3e, 0x15, 0xb3, 0x90, 0xfa, 0x24}};

static struct plugin {
    plugin_host host;
    ID3D11Resource *volatile texture; /* the script's, for the next event */
    volatile LONG frames;
    /* What the render thread has. */
    culv_device *device;
    culv_d3d_device *d3d11;
    culv_kernels *kernels;
    culv_kernel *invert;
    CUstream stream;
    culv_shared_semaphore *fence;
    uint64_t value;
    ID3D11Resource *shadowed;
    culv_d3d_shadow *shadow;
    CUsurfObject surface;
    int width, height;
} my;

static void say(const char *what)
{
    char text[1200];
    snprintf(text, sizeof text, "culvert plug-in: %s: %s", what, culv_last_error_message());
    if (my.host.log != NULL) my.host.log(text);
}

static culv_result begin(void)
{
    culv_d3d_device_desc desc = culv_d3d_device_desc_init();
    desc.device = (IUnknown *)my.host.device;
    culv_result e = culv_device_open_for_d3d((IUnknown *)my.host.device, NULL, &my.device);
    if (e == CULV_OK) e = culv_d3d_attach(my.device, &desc, &my.d3d11);
    if (e == CULV_OK) e = culv_d3d_semaphore_create(my.d3d11, NULL, &my.fence);
    if (e == CULV_OK) e = culv_kernels_load(my.device, my.host.kernels, "unity", &my.kernels);
    if (e == CULV_OK) e = culv_kernels_get(my.kernels, "invert", &my.invert);
    if (e != CULV_OK) return e;
    const culv_cuda_api *cu = CULV_CUDA(my.device);
    return cu->cuCtxSetCurrent(culv_device_context(my.device)) == CUDA_SUCCESS &&
                   cu->cuStreamCreate(&my.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS
               ? CULV_OK
               : CULV_ERROR_DRIVER;
}

/* Waits until both sides are done with the twin: CUDA's last signal says that, and the copy back
 * that waits for it is Direct3D's own. */
static void drop_shadow(void)
{
    if (my.stream != NULL) (void)CULV_CUDA(my.device)->cuStreamSynchronize(my.stream);
    culv_d3d_shadow_destroy(&my.shadow);
    my.shadowed = NULL;
}

static culv_result take_texture(ID3D11Resource *texture)
{
    culv_d3d_shadow_desc desc = culv_d3d_shadow_desc_init();
    D3D11_TEXTURE2D_DESC found;
    if (texture == my.shadowed) return CULV_OK;
    drop_shadow();
    ID3D11Texture2D_GetDesc((ID3D11Texture2D *)(void *)texture, &found);
    desc.resource = (IUnknown *)texture;
    desc.label = "the engine's texture";
    /* What CUDA shall see in the TYPELESS formats that an engine has for 8-bit colour. */
    if (found.Format == DXGI_FORMAT_R8G8B8A8_TYPELESS) desc.format = DXGI_FORMAT_R8G8B8A8_UNORM;
    if (found.Format == DXGI_FORMAT_B8G8R8A8_TYPELESS) desc.format = DXGI_FORMAT_B8G8R8A8_UNORM;
    culv_result e = culv_d3d_shadow_create(my.d3d11, &desc, &my.shadow);
    if (e == CULV_OK)
        e = culv_image_get_surface(culv_shared_image_cuda(culv_d3d_shadow_image(my.shadow)), 0, 0,
                                   &my.surface);
    my.width = (int)found.Width;
    my.height = (int)found.Height;
    my.shadowed = e == CULV_OK ? texture : NULL;
    return e;
}

/* Direct3D copies into the twin, CUDA inverts it, Direct3D copies it back. Nothing waits on the
 * host. */
static culv_result run(ID3D11DeviceContext *context, ID3D11DeviceContext4 *context4)
{
    const culv_launch_desc launch =
        culv_launch_2d((uint64_t)my.width, (uint64_t)my.height, 16, 16, my.stream);
    culv_semaphore *cuda = culv_shared_semaphore_cuda(my.fence);
    ID3D11Fence *fence = (ID3D11Fence *)culv_d3d_semaphore_fence(my.fence);
    culv_result e = culv_d3d_shadow_record(my.shadow, (IUnknown *)context, 0, 0);
    if (e != CULV_OK) return e;
    if (FAILED(ID3D11DeviceContext4_Signal(context4, fence, ++my.value))) return CULV_ERROR_ASYNC;
    ID3D11DeviceContext_Flush(context);
    culv_semaphore_mark_value(cuda, my.value);
    e = culv_semaphore_wait(cuda, my.stream, my.value);
    if (e == CULV_OK)
        e = CULV_LAUNCH(my.invert, &launch, CULV_ARG(my.surface), CULV_ARG(my.width),
                        CULV_ARG(my.height));
    if (e == CULV_OK) e = culv_semaphore_signal(cuda, my.stream, ++my.value);
    if (e != CULV_OK) return e;
    if (FAILED(ID3D11DeviceContext4_Wait(context4, fence, my.value))) return CULV_ERROR_ASYNC;
    return culv_d3d_shadow_record(my.shadow, (IUnknown *)context, 0, 1);
}

static void end(void)
{
    drop_shadow();
    culv_kernels_unload(&my.kernels);
    culv_shared_semaphore_destroy(&my.fence, NULL);
    if (my.stream != NULL) (void)CULV_CUDA(my.device)->cuStreamDestroy(my.stream);
    my.stream = NULL;
    culv_d3d_detach(&my.d3d11);
    culv_device_close(&my.device);
    my.value = 0;
}

static void PLUGIN_CALL render_event(int event)
{
    ID3D11DeviceContext *context = NULL;
    ID3D11DeviceContext4 *context4 = NULL;
    ID3D11Resource *texture = my.texture;
    if (event == PLUGIN_EVENT_END) {
        end();
        return;
    }
    if (texture == NULL) return;
    culv_result e = my.stream != NULL ? CULV_OK : begin();
    if (e == CULV_OK) e = take_texture(texture);
    if (e != CULV_OK) {
        say("the texture cannot be used");
        if (my.stream == NULL) end();
        return;
    }
    ID3D11Device_GetImmediateContext(my.host.device, &context);
    if (FAILED(ID3D11DeviceContext_QueryInterface(context, &iid_context4, (void **)&context4))) {
        say("this Windows has no ID3D11DeviceContext4");
        ID3D11DeviceContext_Release(context);
        return;
    }
    e = run(context, context4);
    if (e == CULV_OK)
        (void)InterlockedIncrement(&my.frames);
    else
        say("a frame failed");
    if (e == CULV_ERROR_ASYNC) { /* the device is removed: the engine makes another one */
        (void)culv_d3d_device_lost(my.d3d11);
        end();
    }
    ID3D11DeviceContext4_Release(context4);
    ID3D11DeviceContext_Release(context);
}

void PLUGIN_CALL PluginLoad(const plugin_host *host)
{
    my.host = *host;
}

/* The engine has issued PLUGIN_EVENT_END before, and its render thread has run it. */
void PLUGIN_CALL PluginUnload(void)
{
    memset(&my, 0, sizeof my);
}

void PLUGIN_CALL PluginSetTexture(void *native_texture)
{
    my.texture = native_texture;
}

plugin_render_event PLUGIN_CALL PluginGetRenderEventFunc(void)
{
    return render_event;
}

unsigned PLUGIN_CALL PluginFrames(void)
{
    return (unsigned)my.frames;
}
