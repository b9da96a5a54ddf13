/* SPDX-License-Identifier: MIT */
/* culv_gl_check_context(): asks OpenGL and CUDA, and says what to do where the two cannot share:
 * the causes that users meet (docs/gl.md), each with its remedy. */
#include "gl/gl_check.h"
#include "gl/gl_core.h"

#include <stdio.h>

/* The text ------------------------------------------------------------------------------------- */

static const char *variable_here(const void *user, const char *name)
{
    (void)user;
    return culvi_environment(name);
}

static bool exists_here(const void *user, const char *path)
{
    (void)user;
    return culvi_module_exists(path);
}

static const culvi_gl_world this_world = {
    .variable = variable_here,
    .exists = exists_here,
#ifdef _WIN32
    .windows = true,
#endif
};

static const char *get(const culvi_gl_world *w, const char *name)
{
    const char *value = w->variable(w->user, name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

static bool there(const culvi_gl_world *w, const char *path)
{
    return w->exists(w->user, path);
}

static bool has_dri(const culvi_gl_world *w)
{
    return there(w, "/dev/dri/renderD128") || there(w, "/dev/dri/card0") ||
           there(w, "/dev/dri/card1");
}

static bool says_software(const char *name, const char *value)
{
    return strcmp(name, "LIBGL_ALWAYS_SOFTWARE") == 0
               ? strcmp(value, "0") != 0 && strcmp(value, "false") != 0
               : strcmp(value, "llvmpipe") == 0 || strcmp(value, "softpipe") == 0 ||
                     strcmp(value, "swrast") == 0;
}

/* A remote desktop by what it sets; NULL: none is seen. */
static const char *remote_desktop(const culvi_gl_world *w)
{
    const char *session = get(w, "SESSIONNAME");
    if (w->windows) return session != NULL && strncmp(session, "RDP-", 4) == 0 ? "RDP" : NULL;
    if (get(w, "XRDP_SESSION") != NULL) return "xrdp";
    if (get(w, "VNCDESKTOP") != NULL || get(w, "X2GO_SESSION") != NULL) return "VNC or X2Go";
    const char *display = get(w, "DISPLAY");
    if (get(w, "SSH_CONNECTION") != NULL && display != NULL) return "X over ssh";
    return NULL;
}

/* PyOpenGL looks for the current context in the platform that it was told. */
static void python(culvi_text *text, const culv_gl_report *r, const culvi_gl_world *w)
{
    const char *platform = get(w, "PYOPENGL_PLATFORM");
    if (platform == NULL) return;
    if (strcmp(platform, "osmesa") == 0)
        culvi_text_add(
            text,
            "PYOPENGL_PLATFORM=osmesa draws on the CPU. Set PYOPENGL_PLATFORM=egl for a context without a window.\n");
    else if (r->platform == CULV_GL_PLATFORM_GLX && strcmp(platform, "egl") == 0)
        culvi_text_add(
            text,
            "PYOPENGL_PLATFORM=egl, but the current context is GLX's (a window's). Unset it, or set PYOPENGL_PLATFORM=glx.\n");
    else if (r->platform == CULV_GL_PLATFORM_EGL && strcmp(platform, "glx") == 0)
        culvi_text_add(
            text,
            "PYOPENGL_PLATFORM=glx, but the current context is EGL's. Set PYOPENGL_PLATFORM=egl.\n");
}

static void no_context(culvi_text *text, const culv_gl_report *r, const culvi_gl_world *w)
{
    culvi_text_add(
        text,
        "No OpenGL context is current on this thread. Make it current on the thread that calls CUDA (%s), or give that thread a context that shares objects with it.\n",
        w->windows ? "wglMakeCurrent" : "eglMakeCurrent, glXMakeCurrent");
    if (!w->windows && get(w, "DISPLAY") == NULL && get(w, "WAYLAND_DISPLAY") == NULL)
        culvi_text_add(
            text,
            "There is no display (DISPLAY and WAYLAND_DISPLAY are unset). Make a context by EGL: EGL_EXT_platform_device on NVIDIA's driver; in Python set PYOPENGL_PLATFORM=egl before the first import of OpenGL.\n");
    python(text, r, w);
}

/* How NVIDIA's OpenGL is chosen where another one draws. */
static void choose_nvidia(culvi_text *text, const culv_gl_report *r, const culvi_gl_world *w)
{
    if (w->windows) {
        culvi_text_add(
            text,
            "Choose the NVIDIA GPU for this program in Windows' graphics settings, or export the variable NvOptimusEnablement = 1 from it.\n");
    } else if (r->platform == CULV_GL_PLATFORM_EGL) {
        culvi_text_add(
            text,
            "Let EGL take NVIDIA's device: eglQueryDevicesEXT and EGL_EXT_platform_device (EGL_NV_device_cuda tells its CUDA ordinal), or set __EGL_VENDOR_LIBRARY_FILENAMES=/usr/share/glvnd/egl_vendor.d/10_nvidia.json.\n");
    } else {
        culvi_text_add(
            text,
            "Run the program with __NV_PRIME_RENDER_OFFLOAD=1 __GLX_VENDOR_LIBRARY_NAME=nvidia.\n");
    }
}

static void software(culvi_text *text, const culv_gl_report *r, const culvi_gl_facts *f,
                     const culvi_gl_world *w)
{
    static const char *const forced[] = {"LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER",
                                         "MESA_LOADER_DRIVER_OVERRIDE"};
    const char *desktop = remote_desktop(w);
    const char *name = strstr(r->renderer, "llvmpipe") != NULL ? "llvmpipe" : r->renderer;
    culvi_text_add(
        text,
        "%s renders: this context draws on the CPU, and CUDA's GPU has none of its memory (registration would fail with 304 or 999).\n",
        name);
    for (size_t i = 0; i < sizeof forced / sizeof forced[0]; i++) {
        const char *value = get(w, forced[i]);
        if (value == NULL || !says_software(forced[i], value)) continue;
        culvi_text_add(text, "%s=%s asks for that. Unset it.\n", forced[i], value);
        return;
    }
    if (there(w, "/dev/dxg")) {
        culvi_text_add(
            text,
            "This is WSL2 (/dev/dxg): its OpenGL shares nothing with CUDA. Allow a fallback (CULV_FALLBACK_HOST), or run on Linux or Windows itself.\n");
    } else if (desktop != NULL && w->windows) {
        culvi_text_add(
            text,
            "This is a remote desktop (%s), which draws without the GPU. Start the program on the console's session.\n",
            desktop);
    } else if (!w->windows && !has_dri(w) && !there(w, "/dev/nvidiactl")) {
        culvi_text_add(
            text,
            "There is no /dev/dri and no /dev/nvidiactl: this machine or container was given no GPU (docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=graphics,compute,utility).\n");
    } else if (desktop != NULL) {
        culvi_text_add(
            text,
            "This is a remote desktop (%s), whose X server draws on the CPU. Run the program by VirtualGL's EGL back end: vglrun -d egl PROGRAM.\n",
            desktop);
    } else if (!w->windows && !has_dri(w)) {
        culvi_text_add(text, "There is no /dev/dri, so Mesa cannot reach the GPU. ");
        choose_nvidia(text, r, w);
    } else if (f->num_cuda > 0) {
        choose_nvidia(text, r, w);
    }
    python(text, r, w);
}

static void other_gpu(culvi_text *text, const culv_gl_report *r, const culvi_gl_world *w)
{
    if (there(w, "/dev/dxg") || strncmp(r->renderer, "D3D12", 5) == 0) {
        culvi_text_add(
            text,
            "This is WSL2 (/dev/dxg): its OpenGL ('%s') shares nothing with CUDA. Allow a fallback (CULV_FALLBACK_HOST), or run on Linux or Windows itself.\n",
            r->renderer);
        return;
    }
    culvi_text_add(text, "'%s' (%s) draws, which is no NVIDIA GPU: CUDA cannot reach its memory.\n",
                   r->renderer, r->vendor);
    choose_nvidia(text, r, w);
    python(text, r, w);
}

/* Says which ways work in a context that culv_gl_attach() takes. */
static void ways(culvi_text *text, const culv_gl_report *r)
{
    if (r->memory_reason == CULV_REASON_NONE)
        culvi_text_add(text, "Memory objects work%s.\n",
                       !r->has_semaphore
                           ? "; there is no GL_EXT_semaphore, so the CPU waits for either side"
                       : !r->has_timeline_semaphore
                           ? "; there is no GL_NV_timeline_semaphore, so timelines wait on the CPU"
                           : " with semaphores on the GPU");
    else if (r->memory_reason == CULV_REASON_EXTENSION_MISSING)
        culvi_text_add(
            text,
            "Memory objects do not work: the context lacks GL_EXT_memory_object and its handles.\n");
    if (r->register_reason == CULV_REASON_NONE)
        culvi_text_add(text, "Registration (cuGraphicsGLRegisterBuffer) works.\n");
    else if (r->register_reason == CULV_REASON_DRIVER_TOO_OLD)
        culvi_text_add(
            text,
            "Registration does not work: the CUDA driver has no cuGraphicsGLRegisterBuffer.\n");
}

/* VirtualGL's EGL back end gives the program a GLX context that is none of the driver's. */
static bool virtual_gl(const culvi_gl_world *w)
{
    const char *display = get(w, "VGL_DISPLAY");
    return get(w, "VGL_ISACTIVE") != NULL && display != NULL &&
           (strncmp(display, "egl", 3) == 0 || strncmp(display, "/dev/dri", 8) == 0);
}

static void one_gpu(culvi_text *text, culv_gl_report *r, const culvi_gl_facts *f,
                    const culvi_gl_world *w)
{
    r->memory_reason = r->has_memory_object ? CULV_REASON_NONE : CULV_REASON_EXTENSION_MISSING;
    r->register_reason = f->registers ? CULV_REASON_NONE : CULV_REASON_DRIVER_TOO_OLD;
    if (virtual_gl(w) && !w->windows) {
        r->register_reason = CULV_REASON_CONTEXT;
        culvi_text_add(
            text,
            "VirtualGL's EGL back end (VGL_DISPLAY=%s) hides the driver's context: registration fails with 999 there. Use memory objects, or VirtualGL's GLX back end (vglrun -d :0).\n",
            get(w, "VGL_DISPLAY"));
    }
    if (r->num_gpus > 1)
        culvi_text_add(
            text,
            "The context spans %u linked GPUs (SLI): share with the one that cuGLGetDevices() names for the frame, or turn SLI off.\n",
            (unsigned)r->num_gpus);
    ways(text, r);
    r->way = r->memory_reason == CULV_REASON_NONE     ? CULV_GL_WAY_MEMORY
             : r->register_reason == CULV_REASON_NONE ? CULV_GL_WAY_REGISTER
                                                      : CULV_GL_WAY_STAGED;
}

void culvi_gl_judge(culv_gl_report *r, const culvi_gl_facts *f, const culvi_gl_world *w)
{
    culvi_text text = {r->text, sizeof r->text, 0};
    r->way = CULV_GL_WAY_STAGED;
    r->memory_reason = r->register_reason = CULV_REASON_DEVICE_UNKNOWN;
    if (r->platform == CULV_GL_PLATFORM_NONE) {
        r->way = CULV_GL_WAY_NONE;
        r->memory_reason = r->register_reason = CULV_REASON_CONTEXT;
        no_context(&text, r, w);
        return;
    }
    culvi_text_add(&text, "OpenGL is '%s' by %s, %s.\n", r->renderer,
                   r->platform == CULV_GL_PLATFORM_EGL   ? "EGL"
                   : r->platform == CULV_GL_PLATFORM_GLX ? "GLX"
                                                         : "WGL",
                   r->version);
    if (f->no_cuda != NULL) {
        r->way = CULV_GL_WAY_NONE;
        r->memory_reason = r->register_reason = CULV_REASON_DRIVER_MISSING;
        culvi_text_add(&text, "There is no CUDA device: %s\n", f->no_cuda);
        return;
    }
    if (f->lacks != NULL) {
        r->way = CULV_GL_WAY_NONE;
        r->memory_reason = r->register_reason = CULV_REASON_EXTENSION_MISSING;
        culvi_text_add(
            &text,
            "No way works: the context lacks %s, and culv_gl_attach() refuses it. Make one of OpenGL 4.5, or with GL_ARB_direct_state_access.\n",
            f->lacks);
        return;
    }
    if (f->other_device) {
        r->memory_reason = r->register_reason = CULV_REASON_DEVICE_MISMATCH;
        culvi_text_add(
            &text,
            "The culv_device '%s' is another GPU. Open the context's by culv_device_open_for_gl(), or allow a fallback.\n",
            f->device_name);
    }
    if (r->cuda_ordinal >= 0 && !f->other_device) {
        culvi_text_add(&text, "It is CUDA device %d, '%s'.\n", (int)r->cuda_ordinal, r->cuda_name);
        one_gpu(&text, r, f, w);
    } else if (r->is_software && !f->twin) {
        software(&text, r, f, w);
    } else if (!f->nvidia && !r->is_software) {
        other_gpu(&text, r, w);
    } else if (r->cuda_ordinal < 0) {
        culvi_text_add(
            &text,
            "CUDA does not show the GPU that draws it: look at CUDA_VISIBLE_DEVICES and at MIG mode.\n");
    }
}

/* The call ------------------------------------------------------------------------------------- */

const char *culv_gl_way_name(culv_gl_way way)
{
    switch (way) {
    case CULV_GL_WAY_NONE: return "NONE";
    case CULV_GL_WAY_MEMORY: return "MEMORY";
    case CULV_GL_WAY_REGISTER: return "REGISTER";
    case CULV_GL_WAY_STAGED: return "STAGED";
    case CULV_GL_WAY_FORCE32: break;
    }
    return "unknown";
}

static void describe_context(culv_gl_report *r, const culvi_gl_table *t, culv_gl_platform platform)
{
    r->platform = platform;
    r->is_software = t->software;
    memcpy(r->vendor, t->vendor, sizeof r->vendor);
    memcpy(r->renderer, t->renderer, sizeof r->renderer);
    memcpy(r->version, t->version, sizeof r->version);
    r->has_uuid = t->has_uuid;
    r->uuid = t->uuid;
    r->driver_uuid = t->driver_uuid;
    r->num_gpus = t->num_gpus;
    r->has_direct_state_access = t->has[CULVI_GL_DIRECT_STATE_ACCESS];
    r->has_memory_object = t->has[CULVI_GL_MEMORY_OBJECT] && t->has[CULVI_GL_MEMORY_OBJECT_HANDLE];
    r->has_semaphore = t->has[CULVI_GL_SEMAPHORE] && t->has[CULVI_GL_SEMAPHORE_HANDLE];
    r->has_timeline_semaphore = r->has_semaphore && t->has[CULVI_GL_TIMELINE_SEMAPHORE];
}

static void ask_cuda(culv_gl_report *r, culvi_gl_facts *f, culvi_gl_table *table,
                     const culvi_probe *probe, const culv_device *device)
{
    culvi_gl_identify(table, probe);
    const culvi_cuda_device *found = table->has_uuid ? culvi_probe_find(probe, &table->uuid) : NULL;
    f->num_cuda = probe->num_devices;
    f->no_cuda = probe->num_devices == 0 ? probe->problems : NULL;
    if (device != NULL) {
        f->device_name = device->caps.name;
        f->other_device = found == NULL || !culvi_uuid_equal(&table->uuid, &device->caps.uuid);
    }
    if (found == NULL) return;
    r->cuda_ordinal = found->ordinal;
    snprintf(r->cuda_name, sizeof r->cuda_name, "%s", found->name);
    f->twin = found->cuda->kind == CULV_DRIVER_SOFT;
    f->registers = culvi_cuda_proc(found->cuda, "cuGraphicsGLRegisterBuffer", 3000) != NULL;
    bool has;
    r->devices_all = culvi_gl_cuda_devices(found->cuda, 1, r->cuda_ordinal, &has);
    r->devices_current_frame = culvi_gl_cuda_devices(found->cuda, 2, r->cuda_ordinal, &has);
    r->devices_next_frame = culvi_gl_cuda_devices(found->cuda, 3, r->cuda_ordinal, &has);
}

culv_result culv_gl_check_context(const culv_gl_desc *desc, culv_device *device,
                                  culv_gl_report *out)
{
    const culvi_voice *voice = device != NULL ? &device->voice : NULL;
    culv_result result = CULV_OK;
    culv_gl_report report = {.cuda_ordinal = -1};
    culvi_gl_facts facts = {.device_name = ""};
    culvi_gl_windows windows;
    culvi_probe probe;
    CULVI_REQUIRE(voice, out);
    CULVI_TRY(culvi_struct_check(voice, out, "culv_gl_report"));
    CULVI_READ(voice, culv_gl_desc, d, desc);
    CULVI_NEW(culvi_gl_table, table, voice, NULL);
    culvi_gl_windows_open(&windows, d.get_proc_address);
    const culvi_gl_context now = culvi_gl_current(&windows);
    if (now.context != NULL) {
        (void)culvi_gl_table_load(table, &windows, now.platform);
        describe_context(&report, table, now.platform);
        facts.nvidia = table->nvidia;
        facts.lacks = culvi_gl_lacks(table);
        result =
            culvi_probe_open(voice, device != NULL ? device->cuda->kind : CULV_DRIVER_AUTO, &probe);
        if (result == CULV_OK) ask_cuda(&report, &facts, table, &probe, device);
    }
    if (result == CULV_OK) {
        culvi_gl_judge(&report, &facts, &this_world);
        culvi_struct_write(out, &report, sizeof report);
        if (now.context != NULL) culvi_probe_close(&probe);
    }
    culvi_gl_windows_close(&windows);
    culvi_free(table);
    return result;
}
