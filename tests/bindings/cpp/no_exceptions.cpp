/* SPDX-License-Identifier: MIT */
/* culvert.hpp where there are no exceptions: what is made is asked for, and errors are values. */
#include <culvert/cuda_api.h>
#include <culvert/vulkan.hpp>

#include <cstdio>

#ifndef CULVERT_NO_EXCEPTIONS
#    error "this is compiled with -fno-exceptions"
#endif

static int wrong(const char *what)
{
    std::fprintf(stderr, "%s; %s\n", what, culv_last_error_message());
    return 1;
}

int main()
{
    auto none = culvert::device::open(99);
    if (none || none.result() != CULV_ERROR_NO_DEVICE || *none) return wrong("device 99");
    auto opened = culvert::device::open(0);
    if (!opened) return wrong("no device");
    const culvert::device device = *std::move(opened);
    culv_vector_desc desc = culv_vector_desc_init();
    desc.size = 40028;
    auto made = culvert::vector::create(device.get(), desc);
    if (!made || made->size() != desc.size) return wrong("no vector");
    const culv_cuda_api &cuda = *CULV_CUDA(device.get());
    unsigned word = 0;
    if (cuda.cuCtxSetCurrent(device.context()) != CUDA_SUCCESS ||
        cuda.cuMemsetD32(made->pointer(), 77, 10007) != CUDA_SUCCESS ||
        cuda.cuMemcpyDtoH(&word, made->pointer() + 40024, 4) != CUDA_SUCCESS || word != 77)
        return wrong("other bytes");
    if (made->grow(UINT64_MAX) != CULV_ERROR_INVALID || made->size() != desc.size)
        return wrong("it grew");
    if (culvert::vk_buffer::create(nullptr, culv_vk_buffer_create_desc_init()).result() !=
        CULV_ERROR_INVALID)
        return wrong("a buffer of nothing");
    std::puts("errors are values");
    return 0;
}
