/* SPDX-License-Identifier: MIT */
/* vtk_field shared|registered|plain PICTURE.png: VTK draws a field that CUDA writes into its
 * texture, by each way of docs/gl-programs.md (vtk_field.h is that page's), or for comparison the
 * same bytes as a vtkImageData. */
#include "vtk_field.h"

#include <culvert/cuda_api.h>

#include <vtkActor.h>
#include <vtkImageData.h>
#include <vtkPNGWriter.h>
#include <vtkPlaneSource.h>
#include <vtkPolyDataMapper.h>
#include <vtkProperty.h>
#include <vtkRenderer.h>
#include <vtkWindowToImageFilter.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

void check(culv_result result)
{
    if (result == CULV_OK) return;
    std::fprintf(stderr, "vtk_field: %s\n", culv_last_error_message());
    std::exit(1);
}

namespace {

constexpr unsigned width = 256, height = 128, frames = 4;

void check_cuda(CUresult result)
{
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "vtk_field: CUDA says %d\n", int(result));
    std::exit(1);
}

std::vector<unsigned char> field(unsigned frame)
{
    std::vector<unsigned char> bytes(size_t(width) * height * 4);
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] =
            i % 4 == 3
                ? 255
                : static_cast<unsigned char>((i * 2654435761u >> 12) + i / 1024 + frame * 40);
    return bytes;
}

void write_picture(vtkRenderWindow *window, const char *path)
{
    vtkNew<vtkWindowToImageFilter> picture;
    picture->SetInput(window);
    picture->ReadFrontBufferOff();
    vtkNew<vtkPNGWriter> writer;
    writer->SetFileName(path);
    writer->SetInputConnection(picture->GetOutputPort());
    writer->Write();
}

template <class Way>
void share(vtkOpenGLRenderWindow *window, vtkOpenGLTexture *texture, const char *path)
{
    Way way;
    culv_device *device = nullptr;
    culv_gl *gl = nullptr;
    CUstream stream = nullptr;
    check(culv_device_open_for_gl(nullptr, nullptr, &device));
    check(culv_gl_attach(device, nullptr, &gl));
    const culv_cuda_api *cu = CULV_CUDA(device);
    check_cuda(cu->cuCtxSetCurrent(culv_device_context(device)));
    check_cuda(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    way.create(gl, window, width, height, texture);
    for (unsigned frame = 0; frame < frames; frame++) {
        const std::vector<unsigned char> bytes = field(frame);
        CUDA_MEMCPY2D copy = {};
        window->MakeCurrent();
        check(culv_image_get_array(way.begin(stream, frame), 0, 0, &copy.dstArray));
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = bytes.data();
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcPitch = copy.WidthInBytes = size_t(width) * 4;
        copy.Height = height;
        check_cuda(cu->cuMemcpy2DAsync(&copy, stream));
        way.end(stream, frame);
        window->Render();
        window->MakeCurrent();
        way.drawn(frame);
    }
    write_picture(window, path);
    window->MakeCurrent();
    texture->ReleaseGraphicsResources(window);
    check_cuda(cu->cuStreamSynchronize(stream));
    way.destroy();
    check_cuda(cu->cuStreamDestroy(stream));
    culv_gl_detach(&gl);
    culv_device_close(&device);
}

void draw_plainly(vtkOpenGLRenderWindow *window, vtkOpenGLTexture *texture, const char *path)
{
    const std::vector<unsigned char> bytes = field(frames - 1);
    vtkNew<vtkImageData> image;
    image->SetDimensions(width, height, 1);
    image->AllocateScalars(VTK_UNSIGNED_CHAR, 4);
    std::memcpy(image->GetScalarPointer(), bytes.data(), bytes.size());
    texture->SetInputData(image);
    texture->SetColorModeToDirectScalars();
    texture->InterpolateOn();
    window->Render();
    write_picture(window, path);
}

} // namespace

int main(int argc, char **argv)
{
    const std::string name = argc == 3 ? argv[1] : "";
    vtkNew<vtkPlaneSource> plane;
    vtkNew<vtkPolyDataMapper> mapper;
    vtkNew<vtkOpenGLTexture> texture;
    vtkNew<vtkActor> actor;
    vtkNew<vtkRenderer> renderer;
    vtkNew<vtkRenderWindow> window;
    mapper->SetInputConnection(plane->GetOutputPort());
    actor->SetMapper(mapper);
    actor->SetTexture(texture);
    actor->ForceOpaqueOn(); /* VTK takes any texture of four channels for a translucent one */
    actor->GetProperty()->LightingOff();
    actor->RotateX(-40.0);
    renderer->AddActor(actor);
    window->SetSize(480, 320);
    window->SetMultiSamples(0);
    window->AddRenderer(renderer);
    auto *opengl = vtkOpenGLRenderWindow::SafeDownCast(window);
    opengl->Initialize(); /* makes VTK's context, and makes it current */
    if (name == "shared")
        share<Shared>(opengl, texture, argv[2]);
    else if (name == "registered")
        share<Registered>(opengl, texture, argv[2]);
    else if (name == "plain")
        draw_plainly(opengl, texture, argv[2]);
    else
        return 2;
    return 0;
}
