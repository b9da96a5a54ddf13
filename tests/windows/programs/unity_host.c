/* SPDX-License-Identifier: MIT */
/* An engine for samples/unity: a script's thread, and a render thread that draws, calls the
 * plug-in's event and reads what the textures have then. */
#include "program.h"

#include "host.h"

enum { FRAMES = 5 };

static struct {
    ID3D11Device *device;
    ID3D11DeviceContext *context;
    ID3D11Texture2D *texture;
    plugin_render_event event;
    unsigned wrong, said;
} engine;

static void hear(const char *text)
{
    printf("  %s\n", text);
    engine.said++;
}

static FARPROC find(HMODULE module, const char *name)
{
    const FARPROC found = GetProcAddress(module, name);
    REQUIRE(found != NULL);
    return found;
}
#define FIND(module, name, out)                                                                    \
    do {                                                                                           \
        const FARPROC found_ = find(module, name);                                                 \
        memcpy(&(out), &found_, sizeof found_);                                                    \
    } while (0)

static unsigned char texel(unsigned frame, UINT x, UINT y, int channel)
{
    return (unsigned char)(frame * 31 + x * 3 + y * 7 + (unsigned)channel * 50);
}

/* Fills the first level, has the plug-in run, and reads it back. */
static void draw(unsigned frame)
{
    static unsigned char data[97 * 61 * 4];
    D3D11_TEXTURE2D_DESC desc;
    D3D11_MAPPED_SUBRESOURCE map;
    ID3D11Texture2D *back = NULL;
    ID3D11Resource *texture = (ID3D11Resource *)(void *)engine.texture;
    ID3D11Texture2D_GetDesc(engine.texture, &desc);
    for (UINT y = 0; y < desc.Height; y++)
        for (UINT x = 0; x < desc.Width; x++)
            for (int c = 0; c < 4; c++)
                data[((size_t)y * desc.Width + x) * 4 + (size_t)c] = texel(frame, x, y, c);
    ID3D11DeviceContext_UpdateSubresource(engine.context, texture, 0, NULL, data, desc.Width * 4,
                                          0);
    engine.event(PLUGIN_EVENT_RUN);
    desc.Usage = D3D11_USAGE_STAGING;
    desc.CPUAccessFlags = D3D11_CPU_ACCESS_READ;
    desc.BindFlags = 0;
    OK(ID3D11Device_CreateTexture2D(engine.device, &desc, NULL, &back));
    ID3D11DeviceContext_CopyResource(engine.context, (ID3D11Resource *)(void *)back, texture);
    OK(ID3D11DeviceContext_Map(engine.context, (ID3D11Resource *)(void *)back, 0, D3D11_MAP_READ, 0,
                               &map));
    for (UINT y = 0; y < desc.Height; y++)
        for (UINT x = 0; x < desc.Width; x++)
            for (int c = 0; c < 4; c++) {
                const unsigned char was = texel(frame, x, y, c);
                const unsigned char got =
                    ((unsigned char *)map.pData)[(size_t)y * map.RowPitch + x * 4 + (size_t)c];
                engine.wrong += got != (c < 3 ? (unsigned char)(255 - was) : was);
            }
    ID3D11DeviceContext_Unmap(engine.context, (ID3D11Resource *)(void *)back, 0);
    ID3D11Texture2D_Release(back);
}

static DWORD WINAPI render(void *argument)
{
    (void)argument;
    for (unsigned frame = 0; frame < FRAMES; frame++)
        draw(frame);
    return 0;
}

static DWORD WINAPI stop(void *argument)
{
    (void)argument;
    engine.event(PLUGIN_EVENT_END);
    return 0;
}

static void on_render_thread(LPTHREAD_START_ROUTINE work)
{
    const HANDLE thread = CreateThread(NULL, 0, work, NULL, 0, NULL);
    REQUIRE(thread != NULL && WaitForSingleObject(thread, 60000) == WAIT_OBJECT_0);
    CloseHandle(thread);
}

int main(void)
{
    static const struct {
        DXGI_FORMAT format;
        UINT width, height, levels;
    } rows[] = {{DXGI_FORMAT_R8G8B8A8_TYPELESS, 97, 61, 1},
                {DXGI_FORMAT_B8G8R8A8_TYPELESS, 64, 48, 1},
                {DXGI_FORMAT_R8G8B8A8_TYPELESS, 64, 48, 4}};
    void(PLUGIN_CALL * load)(const plugin_host *);
    void(PLUGIN_CALL * unload)(void);
    void(PLUGIN_CALL * set_texture)(void *);
    plugin_render_event(PLUGIN_CALL * get_event)(void);
    unsigned(PLUGIN_CALL * frames)(void);
    char path[MAX_PATH * 2] = "";
    GetModuleFileNameA(NULL, path, MAX_PATH);
    setvbuf(stdout, NULL, _IONBF, 0);
    const HMODULE plugin = LoadLibraryA("unity_plugin.dll");
    REQUIRE(plugin != NULL);
    FIND(plugin, "PluginLoad", load);
    FIND(plugin, "PluginUnload", unload);
    FIND(plugin, "PluginSetTexture", set_texture);
    FIND(plugin, "PluginGetRenderEventFunc", get_event);
    FIND(plugin, "PluginFrames", frames);
    OK(D3D11CreateDevice(NULL, D3D_DRIVER_TYPE_HARDWARE, NULL, 0, NULL, 0, D3D11_SDK_VERSION,
                         &engine.device, NULL, &engine.context));
    char *last = strrchr(path, '\\');
    strcpy(last != NULL ? last + 1 : path, "..\\..\\share\\culvert");
    const plugin_host host = {engine.device, hear, path};
    load(&host);
    engine.event = get_event();
    engine.event(PLUGIN_EVENT_RUN); /* no texture yet */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const D3D11_TEXTURE2D_DESC desc = {.Width = rows[i].width,
                                           .Height = rows[i].height,
                                           .MipLevels = rows[i].levels,
                                           .ArraySize = 1,
                                           .Format = rows[i].format,
                                           .SampleDesc = {1, 0},
                                           .BindFlags = D3D11_BIND_SHADER_RESOURCE |
                                                        D3D11_BIND_RENDER_TARGET};
        OK(ID3D11Device_CreateTexture2D(engine.device, &desc, NULL, &engine.texture));
        set_texture(engine.texture);
        on_render_thread(render);
        REQUIRE(engine.wrong == 0 && engine.said == 0);
        set_texture(NULL);
        on_render_thread(stop);
        REQUIRE(ID3D11Texture2D_Release(engine.texture) == 0);
    }
    REQUIRE(frames() == FRAMES * sizeof rows / sizeof rows[0]);
    unload();
    passed("unity");
    return done();
}
