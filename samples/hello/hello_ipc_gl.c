/* SPDX-License-Identifier: MIT */
/* hello_ipc_gl: OpenGL shows what a solver in another process (hello_ipc) makes in CUDA, and checks
 * each word. It outlives its solver, at whatever moment that is killed, and joins the next one.
 *
 *   cc hello_ipc_gl.c $(pkg-config --cflags --libs culvert egl) && ./a.out NAME 4
 *
 * In another terminal run and kill `./hello_ipc solver NAME`, 4 times; without the 4 it stays. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/glcorearb.h>
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/gl.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 3, WORDS = 10007, BYTES = 4 * WORDS };
static const uint64_t timeout = 30000000000, step = 20000000; /* nanoseconds */
static culv_device *device;
static culv_gl *gl;
static CUstream stream;
static culv_shared_semaphore *written, *drawn;
static uint32_t words[WORDS], turn, frames, wrong;
#define GL(type, name, ...) ((PFNGL##type##PROC)eglGetProcAddress(#name))(__VA_ARGS__)
#define OK(call)            check((int)(call), #call) /* 0 is success of Culvert and of CUDA */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* OpenGL 4.5 without a screen, on the first GPU, or Mesa's renderer, where it and CUDA meet. */
static void open_gl(void)
{
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    EGLDeviceEXT gpus[16];
    EGLint count = 0, found = 0;
    const PFNEGLQUERYDEVICESEXTPROC list =
        (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    OK(!list || !list(16, gpus, &count));
    for (EGLint i = 0; i < count && !device; i++) {
        EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, gpus[i], NULL);
        EGLConfig config;
        if (eglInitialize(display, NULL, NULL) && eglBindAPI(EGL_OPENGL_API) &&
            eglChooseConfig(display, wanted, &config, 1, &found) && found > 0 &&
            eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE,
                           eglCreateContext(display, config, EGL_NO_CONTEXT, version)))
            (void)culv_device_open_for_gl(NULL, NULL, &device);
    }
    OK(!device || culv_gl_attach(device, NULL, &gl));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(culv_gl_semaphore_create(gl, NULL, &written));
    OK(culv_gl_semaphore_create(gl, NULL, &drawn));
}

static culv_result receive(culv_ipc_consumer *from, uint32_t slot, GLuint to, culv_gl_memory **out)
{
    culv_ipc_object *object;
    culv_ipc_info info = culv_ipc_info_init();
    culv_gl_memory_desc desc = culv_gl_memory_desc_init();
    culv_result r = culv_ipc_consumer_receive(from, slot, 0, timeout, &object);
    if (r != CULV_OK) return r;
    OK(culv_ipc_object_get_info(object, &info));
    OK(culv_ipc_object_get_handle(object, &desc.handle));
    desc.size = info.allocation_size;
    desc.exporter = info.device;
    OK(culv_gl_memory_import(gl, &desc, out));
    OK(culv_gl_memory_bind_buffer(*out, to, 0, BYTES));
    culv_ipc_object_destroy(&object);
    return CULV_OK;
}

/* The waits end now and then, to ask whether the solver lives; if not, that moves them on. */
static culv_result show(culv_ipc_consumer *consumer, const GLuint *names)
{
    culv_ring_frame frame;
    culv_gl_uses uses = culv_gl_uses_init();
    culv_ring *core = culv_ipc_consumer_core(consumer);
    culv_result r = culv_ring_acquire_on(core, CULV_RING_CONSUMER, stream, step, &frame);
    if (r != CULV_OK) return r; /* TIMEOUT: no frame yet; with a window: look at its events */
    uses.num_buffers = 1;
    uses.buffers = &names[frame.slot];
    OK(culv_semaphore_signal(culv_shared_semaphore_cuda(written), stream, ++turn));
    while ((r = culv_gl_semaphore_wait(written, turn, step, &uses)) == CULV_ERROR_TIMEOUT)
        (void)culv_ipc_consumer_connected(consumer);
    OK(r);
    GL(COPYNAMEDBUFFERSUBDATA, glCopyNamedBufferSubData, *uses.buffers, names[SLOTS], 0, 0, BYTES);
    OK(culv_gl_semaphore_signal(drawn, turn, &uses));
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(drawn), stream, turn));
    OK(culv_ring_release_on(core, CULV_RING_CONSUMER, stream, &frame));
    GLsync fence = GL(FENCESYNC, glFenceSync, GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    while (GL(CLIENTWAITSYNC, glClientWaitSync, fence, GL_SYNC_FLUSH_COMMANDS_BIT, step) ==
           GL_TIMEOUT_EXPIRED)
        (void)culv_ipc_consumer_connected(consumer);
    GL(DELETESYNC, glDeleteSync, fence);
    if (!culv_ipc_consumer_connected(consumer)) return CULV_ERROR_ASYNC; /* moved on: not right */
    GL(GETNAMEDBUFFERSUBDATA, glGetNamedBufferSubData, names[SLOTS], 0, BYTES, words);
    for (int word = 0; word < WORDS; word++)
        wrong += words[word] != 7 + frame.number;
    return frames++, CULV_OK;
}

/* From one solver's begin to its end. How many frames it showed. */
static uint32_t view(const char *server_name)
{
    culv_ipc_client_desc client_desc = culv_ipc_client_desc_init();
    culv_ipc_consumer_desc desc = culv_ipc_consumer_desc_init();
    culv_ipc_client *client = NULL;
    culv_ipc_consumer *consumer = NULL;
    culv_gl_memory *memory[SLOTS] = {NULL};
    GLuint names[SLOTS + 1]; /* the last one is OpenGL's own */
    const uint32_t before = frames;
    client_desc.name = server_name;
    desc.ring = "frames";
    GL(CREATEBUFFERS, glCreateBuffers, SLOTS + 1, names);
    GL(NAMEDBUFFERSTORAGE, glNamedBufferStorage, names[SLOTS], BYTES, NULL, 0);
    culv_result r = culv_ipc_client_connect(device, &client_desc, timeout, &client);
    if (r == CULV_OK) r = culv_ipc_consumer_join(client, &desc, timeout, &consumer);
    for (uint32_t slot = 0; slot < SLOTS && r == CULV_OK; slot++)
        r = receive(consumer, slot, names[slot], &memory[slot]);
    for (int there = r == CULV_OK; there; there = r == CULV_OK || r == CULV_ERROR_TIMEOUT)
        r = show(consumer, names);
    printf("%u frames, then: %s\n", frames - before, culv_last_error_message());
    OK(r == CULV_ERROR_TIMEOUT || r == CULV_ERROR_ASYNC ? CULV_OK : r);
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream)); /* it was moved on */
    culv_ipc_consumer_destroy(&consumer);
    culv_ipc_client_destroy(&client);
    GL(DELETEBUFFERS, glDeleteBuffers, SLOTS + 1, names);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        OK(culv_gl_memory_destroy(&memory[slot]));
    return frames - before;
}

int main(int argc, char **argv)
{
    open_gl();
    for (int left = argc > 2 ? atoi(argv[2]) : -1; left != 0;) /* solvers; below 0: it stays */
        left -= view(argc > 1 ? argv[1] : "hello_ipc") > 0;
    printf("hello_ipc_gl: %u of %u words are wrong\n", wrong, frames * WORDS);
    OK(culv_shared_semaphore_destroy(&drawn));
    OK(culv_shared_semaphore_destroy(&written));
    culv_gl_detach(&gl);
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_device_close(&device);
    return wrong != 0;
}
