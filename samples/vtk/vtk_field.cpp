/* SPDX-License-Identifier: MIT */
/* vtk_field: VTK shows a field that CUDA writes straight into the texture that VTK draws with.
 * Nothing goes through the host.
 *
 *   vtk_field memory|register|staged PICTURE.png
 *
 *   memory    the texture is Culvert's, in memory of both; VTK draws with it
 *   register  the texture is a vtkTextureObject of VTK's own, which CUDA maps in each frame
 *   staged    for comparison: the field goes to the host, and VTK uploads it as a vtkImageData */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/gl.h>
#include <culvert/gl_register.h>

#include <vtkActor.h>
#include <vtkCamera.h>
#include <vtkImageData.h>
#include <vtkLight.h>
#include <vtkNew.h>
#include <vtkOpenGLRenderWindow.h>
#include <vtkOpenGLTexture.h>
#include <vtkPNGWriter.h>
#include <vtkParametricFunctionSource.h>
#include <vtkParametricTorus.h>
#include <vtkPolyDataMapper.h>
#include <vtkProperty.h>
#include <vtkRenderWindow.h>
#include <vtkRenderer.h>
#include <vtkTextActor.h>
#include <vtkTextProperty.h>
#include <vtkTextureObject.h>
#include <vtkWindowToImageFilter.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int width = 1024, height = 512, frames = 12;
constexpr unsigned gl_texture_2d = 0x0DE1, gl_rgba8 = 0x8058;

void check(int result, const char *call)
{
    if (result == 0) return;
    std::fprintf(stderr, "vtk_field: %s: %d\n%s\n", call, result, culv_last_error_message());
    std::exit(1);
}
#define OK(call) check(static_cast<int>(call), #call)

/* How the field gets to the texture. VTK's context is current in all calls. */
struct Way {
    culv_device *device = nullptr;
    const culv_cuda_api *cu = nullptr;
    culv_gl *gl = nullptr;
    CUstream stream = nullptr;
    vtkNew<vtkOpenGLTexture> texture;

    virtual ~Way() = default;
    virtual void create(vtkOpenGLRenderWindow *window) = 0;
    virtual CUsurfObject begin(int frame) = 0; /* CUDA may write when the stream gets there */
    virtual void end(int frame) = 0;           /* VTK draws next */
    virtual void drawn(int) {}
    virtual void destroy() = 0;
};

/* A texture of someone else's, in VTK. */
void show(Way &way, vtkTextureObject *object)
{
    object->SetWrapS(vtkTextureObject::Repeat);
    object->SetWrapT(vtkTextureObject::Repeat);
    object->SetMinificationFilter(vtkTextureObject::Linear);
    object->SetMagnificationFilter(vtkTextureObject::Linear);
    way.texture->SetTextureObject(object);
}

struct Memory : Way {
    culv_shared_image *image = nullptr;
    culv_shared_semaphore *ready = nullptr, *done = nullptr;
    CUsurfObject surface = 0;
    vtkNew<vtkTextureObject> object;
    unsigned name = 0;
    culv_gl_uses uses = culv_gl_uses_init();

    void create(vtkOpenGLRenderWindow *window) override
    {
        culv_gl_image_create_desc desc = culv_gl_image_create_desc_init();
        desc.internal_format = gl_rgba8;
        desc.width = width;
        desc.height = height;
        OK(culv_gl_image_create(gl, &desc, &image));
        OK(culv_image_get_surface(culv_shared_image_cuda(image), 0, &surface));
        OK(culv_gl_semaphore_create(gl, nullptr, &ready));
        OK(culv_gl_semaphore_create(gl, nullptr, &done));
        name = culv_gl_image_name(image);
        uses.num_textures = 1;
        uses.textures = &name;
        object->SetContext(window);
        object->AssignToExistingTexture(name, gl_texture_2d);
        show(*this, object);
    }
    CUsurfObject begin(int frame) override
    {
        if (frame > 0)
            OK(culv_semaphore_wait(culv_shared_semaphore_cuda(done), stream, uint64_t(frame)));
        return surface;
    }
    void end(int frame) override
    {
        OK(culv_semaphore_signal(culv_shared_semaphore_cuda(ready), stream, uint64_t(frame) + 1));
        OK(culv_gl_semaphore_wait(ready, uint64_t(frame) + 1, CULV_GL_FOREVER, &uses));
    }
    void drawn(int frame) override
    {
        OK(culv_gl_semaphore_signal(done, uint64_t(frame) + 1, &uses));
    }
    void destroy() override
    {
        OK(culv_shared_semaphore_destroy(&done));
        OK(culv_shared_semaphore_destroy(&ready));
        OK(culv_shared_image_destroy(&image));
    }
};

struct Register : Way {
    culv_registration *registration = nullptr;
    vtkNew<vtkTextureObject> object;

    void create(vtkOpenGLRenderWindow *window) override
    {
        object->SetContext(window);
        object->Allocate2D(width, height, 4, VTK_UNSIGNED_CHAR);
        OK(culv_gl_register_image(gl, object->GetHandle(), gl_texture_2d, nullptr, &registration));
        show(*this, object);
    }
    CUsurfObject begin(int) override
    {
        CUsurfObject surface = 0;
        OK(culv_registration_map(&registration, 1, stream));
        OK(culv_image_get_surface(culv_registration_image(registration), 0, &surface));
        return surface;
    }
    void end(int) override
    {
        OK(culv_registration_unmap(&registration, 1, stream));
    }
    void destroy() override
    {
        OK(culv_registration_destroy(&registration));
    }
};

struct Staged : Way {
    CUarray array = nullptr;
    CUsurfObject surface = 0;
    vtkNew<vtkImageData> image;

    void create(vtkOpenGLRenderWindow *) override
    {
        CUDA_ARRAY3D_DESCRIPTOR desc = {};
        desc.Width = width;
        desc.Height = height;
        desc.Format = CU_AD_FORMAT_UNSIGNED_INT8;
        desc.NumChannels = 4;
        desc.Flags = CUDA_ARRAY3D_SURFACE_LDST;
        OK(cu->cuArray3DCreate(&array, &desc));
        CUDA_RESOURCE_DESC resource = {};
        resource.resType = CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = array;
        OK(cu->cuSurfObjectCreate(&surface, &resource));
        image->SetDimensions(width, height, 1);
        image->AllocateScalars(VTK_UNSIGNED_CHAR, 4);
        texture->SetInputData(image);
        texture->SetColorModeToDirectScalars();
        texture->InterpolateOn();
        texture->RepeatOn();
    }
    CUsurfObject begin(int) override
    {
        return surface;
    }
    void end(int) override
    {
        CUDA_MEMCPY2D copy = {};
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = array;
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = image->GetScalarPointer();
        copy.dstPitch = copy.WidthInBytes = size_t(width) * 4;
        copy.Height = height;
        OK(cu->cuMemcpy2DAsync(&copy, stream));
        OK(cu->cuStreamSynchronize(stream));
        image->Modified();
    }
    void destroy() override
    {
        OK(cu->cuSurfObjectDestroy(surface));
        OK(cu->cuArrayDestroy(array));
    }
};

/* A torus with the field on it, and what the field is. */
void make_scene(vtkRenderer *renderer, vtkTexture *texture)
{
    vtkNew<vtkParametricTorus> torus;
    torus->SetRingRadius(1.0);
    torus->SetCrossSectionRadius(0.46);
    vtkNew<vtkParametricFunctionSource> source;
    source->SetParametricFunction(torus);
    source->SetUResolution(160);
    source->SetVResolution(80);
    source->GenerateTextureCoordinatesOn();
    vtkNew<vtkPolyDataMapper> mapper;
    mapper->SetInputConnection(source->GetOutputPort());
    mapper->ScalarVisibilityOff();
    vtkNew<vtkActor> actor;
    actor->SetMapper(mapper);
    actor->SetTexture(texture);
    actor->ForceOpaqueOn(); /* VTK takes any texture of four channels for a translucent one */
    actor->GetProperty()->SetAmbient(0.18);
    actor->GetProperty()->SetDiffuse(0.85);
    actor->GetProperty()->SetSpecular(0.35);
    actor->GetProperty()->SetSpecularPower(40);
    renderer->AddActor(actor);

    vtkNew<vtkTextActor> text;
    text->SetInput("CUDA's field, VTK's scene, one texture");
    text->GetTextProperty()->SetFontSize(20);
    text->GetTextProperty()->SetColor(0.25, 0.28, 0.33);
    text->SetPosition(24, 20);
    renderer->AddActor2D(text);

    renderer->GradientBackgroundOn();
    renderer->SetBackground(0.80, 0.83, 0.88);
    renderer->SetBackground2(0.98, 0.98, 0.99);
    renderer->GetActiveCamera()->SetPosition(0.7, -3.9, 3.1);
    renderer->GetActiveCamera()->SetFocalPoint(0, 0, -0.12);
    renderer->GetActiveCamera()->SetViewUp(0, 0, 1);
    renderer->ResetCameraClippingRange();
}

void write_picture(vtkRenderWindow *window, const char *path)
{
    vtkNew<vtkWindowToImageFilter> picture;
    picture->SetInput(window);
    picture->ReadFrontBufferOff();
    picture->ShouldRerenderOff();
    vtkNew<vtkPNGWriter> writer;
    writer->SetFileName(path);
    writer->SetInputConnection(picture->GetOutputPort());
    writer->Write();
}

void run(Way &way, const char *path)
{
    vtkNew<vtkRenderWindow> window;
    vtkNew<vtkRenderer> renderer;
    window->SetSize(960, 640);
    window->SetWindowName("vtk_field");
    window->SetMultiSamples(0);
    window->AddRenderer(renderer);
    auto *opengl = vtkOpenGLRenderWindow::SafeDownCast(window);
    check(opengl == nullptr, "VTK without OpenGL");
    opengl->Initialize(); /* makes VTK's context, and makes it current */

    OK(culv_device_open_for_gl(nullptr, nullptr, &way.device));
    OK(culv_gl_attach(way.device, nullptr, &way.gl));
    way.cu = CULV_CUDA(way.device);
    OK(way.cu->cuCtxSetCurrent(culv_device_context(way.device)));
    OK(way.cu->cuStreamCreate(&way.stream, CU_STREAM_NON_BLOCKING));
    culv_kernels *kernels = nullptr;
    culv_kernel *kernel = nullptr;
    OK(culv_kernels_load(way.device, KERNELS, "vtk_field", &kernels));
    OK(culv_kernels_get(kernels, "vtk_field", &kernel));
    way.create(opengl);
    make_scene(renderer, way.texture);

    for (int frame = 0; frame < frames; frame++) {
        window->MakeCurrent();
        CUsurfObject surface = way.begin(frame);
        int w = width, h = height;
        float time = 0.15f * float(frame);
        void *parameters[] = {&surface, &w, &h, &time};
        OK(way.cu->cuLaunchKernel(culv_kernel_native_handle(kernel), width / 32, height / 8, 1, 32,
                                  8, 1, 0, way.stream, parameters, nullptr));
        way.end(frame);
        window->Render();
        window->MakeCurrent();
        way.drawn(frame);
    }
    write_picture(window, path);

    /* Before VTK's context goes. */
    window->MakeCurrent();
    way.texture->ReleaseGraphicsResources(window);
    OK(way.cu->cuStreamSynchronize(way.stream));
    way.destroy();
    culv_kernels_unload(&kernels);
    OK(way.cu->cuStreamDestroy(way.stream));
    culv_gl_detach(&way.gl);
    culv_device_close(&way.device);
}

} // namespace

int main(int argc, char **argv)
{
    const std::string name = argc == 3 ? argv[1] : "";
    if (name == "memory") {
        Memory way;
        run(way, argv[2]);
    } else if (name == "register") {
        Register way;
        run(way, argv[2]);
    } else if (name == "staged") {
        Staged way;
        run(way, argv[2]);
    } else {
        std::fprintf(stderr, "usage: vtk_field memory|register|staged PICTURE.png\n");
        return 2;
    }
    std::printf("vtk_field: %d frames by way of %s, %s\n", frames, name.c_str(), argv[2]);
    return 0;
}
