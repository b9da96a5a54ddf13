/* SPDX-License-Identifier: MIT */
/* What an engine gives to a plug-in, in the shape of Unity's native plug-ins. In a plug-in for
 * Unity its headers take this one's place: PluginLoad() is UnityPluginLoad(), whose
 * IUnityInterfaces give IUnityGraphicsD3D11::GetDevice(); PluginUnload() is UnityPluginUnload(); a
 * script passes Texture.GetNativeTexturePtr() to PluginSetTexture(), and the pointer of
 * PluginGetRenderEventFunc() to CommandBuffer.IssuePluginEvent().
 * Source: https://docs.unity3d.com/Manual/NativePluginInterface.html */
#ifndef CULVERT_SAMPLES_UNITY_HOST_H_
#define CULVERT_SAMPLES_UNITY_HOST_H_

#define PLUGIN_CALL   __stdcall
#define PLUGIN_EXPORT __declspec(dllexport)

struct ID3D11Device;

typedef struct plugin_host {
    struct ID3D11Device *device; /* it lives until PluginUnload() has returned */
    void (*log)(const char *text);
    const char *kernels; /* the directory of unity.soft.so or unity.fatbin */
} plugin_host;

typedef void(PLUGIN_CALL *plugin_render_event)(int event);
enum { PLUGIN_EVENT_RUN = 1, PLUGIN_EVENT_END = 2 };

/* On the main thread. */
PLUGIN_EXPORT void PLUGIN_CALL PluginLoad(const plugin_host *host);
PLUGIN_EXPORT void PLUGIN_CALL PluginUnload(void);
PLUGIN_EXPORT void PLUGIN_CALL PluginSetTexture(void *native_texture);
PLUGIN_EXPORT plugin_render_event PLUGIN_CALL PluginGetRenderEventFunc(void);
/* Events that ran to their end. */
PLUGIN_EXPORT unsigned PLUGIN_CALL PluginFrames(void);

#endif
