/* SPDX-License-Identifier: MIT */
/* hello_gl: CUDA writes a strip of colours into a buffer, OpenGL makes a picture from it, and CUDA
 * reads the picture. Each side waits for the other, by one timeline a direction. No window: EGL.
 *
 *   cc hello_gl.c $(pkg-config --cflags --libs culvert egl) -lm && ./a.out
 *
 * With CULVERT_SOFT=1 it runs where there is no GPU. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/gl.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/glcorearb.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 253, HEIGHT = 127, STRIP = 3 * WIDTH };

#define OK(call) check((int)(call), #call) /* 0 is success of Culvert and of CUDA */
static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* A context of OpenGL 4.5 without a screen, current on this thread. 0, or an EGL error. */
static int make_context(EGLDeviceEXT gpu, EGLDisplay *display, EGLContext *context)
{
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    EGLConfig config;
    EGLint found = 0;
    *display = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, gpu, NULL);
    if (!eglInitialize(*display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API) ||
        !eglChooseConfig(*display, wanted, &config, 1, &found) || found == 0)
        return EGL_NOT_INITIALIZED;
    *context = eglCreateContext(*display, config, EGL_NO_CONTEXT, version);
    return eglMakeCurrent(*display, EGL_NO_SURFACE, EGL_NO_SURFACE, *context) ? 0 : eglGetError();
}

int main(void)
{
    /* The first GPU, or Mesa's renderer, on which OpenGL and CUDA meet. */
    EGLDeviceEXT gpus[16];
    EGLDisplay display = EGL_NO_DISPLAY;
    EGLContext context = EGL_NO_CONTEXT;
    EGLint count = 0;
    const PFNEGLQUERYDEVICESEXTPROC list =
        (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    OK(!list || !list(16, gpus, &count));
    culv_device *device = NULL;
    for (EGLint i = 0; i < count && !device; i++) {
        if (make_context(gpus[i], &display, &context) != 0) continue;
        if (culv_device_open_for_gl(NULL, NULL, &device) == CULV_OK) break;
        fprintf(stderr, "GPU %d: %s\n", (int)i, culv_last_error_message());
        eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
        eglDestroyContext(display, context);
        eglTerminate(display);
    }
    OK(device == NULL);
    culv_gl *gl;
    OK(culv_gl_attach(device, NULL, &gl));
    CUstream stream;
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

    /* What both share: a buffer with the strip and, behind it, the picture; and two timelines. */
    culv_gl_buffer_create_desc buffer_desc = culv_gl_buffer_create_desc_init();
    culv_shared_buffer *buffer;
    culv_shared_semaphore *written, *drawn;
    buffer_desc.size = 4 * (STRIP + WIDTH * HEIGHT);
    OK(culv_gl_buffer_create(gl, &buffer_desc, &buffer));
    OK(culv_gl_semaphore_create(gl, NULL, &written));
    OK(culv_gl_semaphore_create(gl, NULL, &drawn));
    const CUdeviceptr pointer = culv_shared_buffer_pointer(buffer);
    const GLuint name = culv_gl_buffer_name(buffer);
    culv_gl_uses uses = culv_gl_uses_init(); /* what each side hands over */
    uses.num_buffers = 1;
    uses.buffers = &name;

    /* CUDA writes the strip and signals. */
    static uint32_t strip[STRIP], picture[HEIGHT][WIDTH], first[HEIGHT];
    for (uint32_t i = 0; i < STRIP; i++)
        strip[i] = (uint32_t)(128 + 127 * cos(i * 0.0207)) |
                   (uint32_t)(120 + 80 * cos(i * 0.0414 + 1)) << 8 |
                   (uint32_t)(150 + 105 * cos(i * 0.0207 + 2.5)) << 16;
    OK(CULV_CUDA(device)->cuMemcpyHtoDAsync(pointer, strip, sizeof strip, stream));
    OK(culv_semaphore_signal(culv_shared_semaphore_cuda(written), stream, 1));

    /* OpenGL waits for that, makes row after row, and signals. */
    const PFNGLCOPYNAMEDBUFFERSUBDATAPROC copy =
        (PFNGLCOPYNAMEDBUFFERSUBDATAPROC)eglGetProcAddress("glCopyNamedBufferSubData");
    const PFNGLGETERRORPROC error = (PFNGLGETERRORPROC)eglGetProcAddress("glGetError");
    OK(culv_gl_semaphore_wait(written, 1, CULV_GL_FOREVER, &uses));
    for (uint32_t row = 0; row < HEIGHT; row++) {
        first[row] = (uint32_t)((int)WIDTH + 0.55 * (int)WIDTH * sin(row * 0.035) +
                                0.25 * (int)WIDTH * sin(row * 0.11 + 1));
        copy(name, name, 4 * first[row], 4 * (STRIP + row * WIDTH), 4 * WIDTH);
    }
    OK(culv_gl_semaphore_signal(drawn, 1, &uses));
    OK(error());

    /* CUDA waits for that and reads the picture; only here the host waits. */
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(drawn), stream, 1));
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(picture, pointer + sizeof strip, sizeof picture,
                                            stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
    int wrong = 0;
    FILE *file = fopen("hello_gl.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++) {
        wrong += picture[i / WIDTH][i % WIDTH] != strip[first[i / WIDTH] + i % WIDTH];
        fwrite(&picture[i / WIDTH][i % WIDTH], 3, 1, file);
    }
    OK(fclose(file));
    printf("hello_gl.ppm: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    OK(culv_shared_semaphore_destroy(&drawn));
    OK(culv_shared_semaphore_destroy(&written));
    OK(culv_shared_buffer_destroy(&buffer));
    culv_gl_detach(&gl);
    culv_device_close(&device);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display, context);
    eglTerminate(display);
    return wrong != 0;
}
