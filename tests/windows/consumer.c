/* SPDX-License-Identifier: MIT */
/* A user of the zip. A vector of CUDA's memory that grows: what is written comes back. */
#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <culvert/vector.h>

#include <stdio.h>
#include <string.h>

enum { BYTES = 70001 };
static unsigned char put[BYTES], got[BYTES];

#define OK(call)                                                                                   \
    if ((int)(call) != 0) return printf("%s failed: %s\n", #call, culv_last_error_message())

int main(void)
{
    culv_device *device = NULL;
    culv_vector *vector = NULL;
    culv_vector_desc desc = culv_vector_desc_init();
    OK(culv_device_open_by_ordinal(0, NULL, &device));
    OK(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    OK(culv_vector_create(device, &desc, &vector));
    OK(culv_vector_grow(vector, BYTES));
    for (unsigned i = 0; i < BYTES; i++)
        put[i] = (unsigned char)(i * 7 + i / 256);
    OK(CULV_CUDA(device)->cuMemcpyHtoD(culv_vector_pointer(vector), put, BYTES));
    OK(CULV_CUDA(device)->cuMemcpyDtoH(got, culv_vector_pointer(vector), BYTES));
    OK(memcmp(put, got, BYTES));
    culv_vector_destroy(&vector, NULL);
    culv_device_close(&device);
    printf("Culvert %s: %.1f KiB came back\n", culv_version_string(), BYTES / 1024.0);
    return 0;
}
