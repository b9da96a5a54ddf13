/* SPDX-License-Identifier: MIT */
/* hello_gl: CUDA writes a strip of colours into a buffer, OpenGL makes a picture from it, and CUDA
 * reads the picture. Each side waits for the other, by one timeline a direction. No window: EGL.
 *
 *   cc hello_gl.c $(pkg-config --cflags --libs culvert egl) -lm && ./a.out
 *
 * It writes hello_gl.ppm, the picture of hello_vulkan.c, and prints
 * "hello_gl.ppm: 0 of 32131 pixels are wrong". With CULVERT_SOFT=1 it runs without a GPU. */
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

static uint32_t strip[STRIP];
static uint32_t picture[HEIGHT][WIDTH];

/* 0 is success of Culvert and of CUDA. */
#define OK(call) check((int)(call), #call)

static void check(int result, const char *call)
{
    if (result == 0) return;
    fprintf(stderr, "%s: %d (Culvert's last error: %s)\n", call, result, culv_last_error_message());
    exit(1);
}

/* The device ----------------------------------------------------------------------------------- */

static EGLDisplay display = EGL_NO_DISPLAY;
static EGLContext context = EGL_NO_CONTEXT;
static culv_device *device; /* CUDA's device, which is the same GPU */
static culv_gl *gl;         /* Culvert between the two */
static CUstream stream;

/* A context of OpenGL 4.5 without a screen, current on this thread. 0, or an EGL error. */
static int make_context(EGLDeviceEXT gpu)
{
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    EGLConfig config;
    EGLint found = 0;
    display = eglGetPlatformDisplay(EGL_PLATFORM_DEVICE_EXT, gpu, NULL);
    if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API)) return eglGetError();
    if (!eglChooseConfig(display, wanted, &config, 1, &found) || found == 0) return EGL_BAD_CONFIG;
    context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    return eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context) ? 0 : eglGetError();
}

static void destroy_context(void)
{
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display, context);
    eglTerminate(display);
}

/* The first GPU, or Mesa's renderer, on which OpenGL and CUDA meet. */
static void open_device(void)
{
    EGLDeviceEXT gpus[16];
    EGLint count = 0;
    const PFNEGLQUERYDEVICESEXTPROC list =
        (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
    OK(!list || !list(16, gpus, &count));
    for (EGLint i = 0; i < count && !device; i++) {
        if (make_context(gpus[i]) != 0) continue;
        if (culv_device_open_for_gl(NULL, NULL, &device) == CULV_OK) break;
        fprintf(stderr, "GPU %d: %s\n", (int)i, culv_last_error_message());
        destroy_context();
    }
    OK(device == NULL);
    OK(culv_gl_attach(device, NULL, &gl));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(CULV_CUDA(device)->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static void close_device(void)
{
    OK(CULV_CUDA(device)->cuStreamDestroy(stream));
    culv_gl_detach(&gl);
    culv_device_close(&device);
    destroy_context();
}

/* Memory and semaphores ------------------------------------------------------------------------ */

static culv_shared_buffer *buffer; /* the strip and, behind it, the picture */
static culv_shared_semaphore *written, *drawn;

static void share(void)
{
    culv_gl_buffer_create_desc desc = culv_gl_buffer_create_desc_init();
    desc.size = 4 * (STRIP + WIDTH * HEIGHT);
    OK(culv_gl_buffer_create(gl, &desc, &buffer));
    OK(culv_gl_semaphore_create(gl, NULL, &written));
    OK(culv_gl_semaphore_create(gl, NULL, &drawn));
}

/* Work ----------------------------------------------------------------------------------------- */

static void cuda_writes_strip(void)
{
    for (uint32_t i = 0; i < STRIP; i++) {
        const uint32_t red = (uint32_t)(128 + 127 * cos(i * 0.0207));
        const uint32_t green = (uint32_t)(120 + 80 * cos(i * 0.0414 + 1));
        const uint32_t blue = (uint32_t)(150 + 105 * cos(i * 0.0207 + 2.5));
        strip[i] = red | green << 8 | blue << 16;
    }
    const CUdeviceptr pointer = culv_shared_buffer_pointer(buffer);
    OK(CULV_CUDA(device)->cuMemcpyHtoDAsync(pointer, strip, sizeof strip, stream));
    OK(culv_semaphore_signal(culv_shared_semaphore_cuda(written), stream, 1));
}

/* Which pixel of the strip a row begins with. */
static uint32_t first_of_row(uint32_t row)
{
    return (uint32_t)((int)WIDTH + 0.55 * (int)WIDTH * sin(row * 0.035) +
                      0.25 * (int)WIDTH * sin(row * 0.11 + 1));
}

/* OpenGL waits for the strip, copies a piece of it into each row, and signals. */
static void gl_draws(void)
{
    const PFNGLCOPYNAMEDBUFFERSUBDATAPROC copy =
        (PFNGLCOPYNAMEDBUFFERSUBDATAPROC)eglGetProcAddress("glCopyNamedBufferSubData");
    const PFNGLGETERRORPROC error = (PFNGLGETERRORPROC)eglGetProcAddress("glGetError");
    const GLuint name = culv_gl_buffer_name(buffer);
    culv_gl_uses uses = culv_gl_uses_init(); /* what each side hands over */
    uses.num_buffers = 1;
    uses.buffers = &name;
    OK(culv_gl_semaphore_wait(written, 1, CULV_GL_FOREVER, &uses));
    for (uint32_t row = 0; row < HEIGHT; row++)
        copy(name, name, 4 * first_of_row(row), 4 * (STRIP + row * WIDTH), 4 * WIDTH);
    OK(culv_gl_semaphore_signal(drawn, 1, &uses));
    OK(error());
}

/* The host waits only here. */
static void cuda_reads_picture(void)
{
    const CUdeviceptr pointer = culv_shared_buffer_pointer(buffer) + sizeof strip;
    OK(culv_semaphore_wait(culv_shared_semaphore_cuda(drawn), stream, 1));
    OK(CULV_CUDA(device)->cuMemcpyDtoHAsync(picture, pointer, sizeof picture, stream));
    OK(CULV_CUDA(device)->cuStreamSynchronize(stream));
}

/* Check and picture ---------------------------------------------------------------------------- */

static int count_wrong(void)
{
    int wrong = 0;
    for (uint32_t row = 0; row < HEIGHT; row++) {
        for (uint32_t x = 0; x < WIDTH; x++)
            wrong += picture[row][x] != strip[first_of_row(row) + x];
    }
    return wrong;
}

static void write_picture(void)
{
    FILE *file = fopen("hello_gl.ppm", "wb");
    OK(file == NULL);
    fprintf(file, "P6 %d %d 255\n", WIDTH, HEIGHT);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        fwrite(&picture[i / WIDTH][i % WIDTH], 3, 1, file);
    OK(fclose(file));
}

int main(void)
{
    open_device();
    share();
    cuda_writes_strip();
    gl_draws();
    cuda_reads_picture();

    const int wrong = count_wrong();
    write_picture();
    printf("hello_gl.ppm: %d of %d pixels are wrong\n", wrong, WIDTH * HEIGHT);

    OK(culv_shared_semaphore_destroy(&drawn, NULL));
    OK(culv_shared_semaphore_destroy(&written, NULL));
    OK(culv_shared_buffer_destroy(&buffer, NULL));
    close_device();
    return wrong != 0;
}
