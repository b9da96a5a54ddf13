/* SPDX-License-Identifier: MIT */
/* Multicast objects of devices that are played to have them. */
#define TEST_GROUP "multicast."
#include "twin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define GRANULE ((size_t)TWIN_GRANULE)

typedef struct team {
    twin t;
    PFN_cuMulticastCreate_v12010 create;
    PFN_cuMulticastAddDevice_v12010 add;
    PFN_cuMulticastBindMem_v12010 bind;
    PFN_cuMulticastBindAddr_v12010 bind_address;
    PFN_cuMulticastUnbind_v12010 unbind;
    PFN_cuMulticastGetGranularity_v12010 granularity;
    CUmemGenericAllocationHandle memory[2];
} team;

static team team_begin(void)
{
    REQUIRE_EQ(setenv("CULVERT_SOFT_DEVICES", "3", 1), 0);
    team m = {.t = twin_begin(CU_STREAM_NON_BLOCKING)};
    twin_proc(m.t.cu, "cuMulticastCreate", 12010, &m.create);
    twin_proc(m.t.cu, "cuMulticastAddDevice", 12010, &m.add);
    twin_proc(m.t.cu, "cuMulticastBindMem", 12010, &m.bind);
    twin_proc(m.t.cu, "cuMulticastBindAddr", 12010, &m.bind_address);
    twin_proc(m.t.cu, "cuMulticastUnbind", 12010, &m.unbind);
    twin_proc(m.t.cu, "cuMulticastGetGranularity", 12010, &m.granularity);
    m.t.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
    for (int i = 0; i < 2; i++)
        m.memory[i] = twin_memory(m.t.cu, i, 2 * GRANULE, CU_MEM_HANDLE_TYPE_NONE);
    return m;
}

static void team_finish(team *m)
{
    for (int i = 0; i < 2; i++)
        CU_OK(m->t.cu->MemRelease(m->memory[i]));
    twin_finish(&m->t);
}

#define TEAM_CASE(...) TEST_ON(team, m, *m = team_begin(), team_finish(m), __VA_ARGS__)

static CUmulticastObjectProp of_two(void)
{
    CUmulticastObjectProp prop;
    memset(&prop, 0, sizeof prop);
    prop.numDevices = 2;
    prop.size = 4 * GRANULE;
    return prop;
}

TEAM_CASE(refused_without, .own = true)
{
    CUmulticastObjectProp prop = of_two();
    CUmemGenericAllocationHandle object = 0;
    size_t size = 0;
    m->t.cu->SoftPlayAttribute(0, 0);
    CU_IS(m->granularity(&size, &prop, CU_MULTICAST_GRANULARITY_MINIMUM), CUDA_ERROR_NOT_SUPPORTED);
    CU_IS(m->create(&object, &prop), CUDA_ERROR_NOT_SUPPORTED);
    m->t.cu->SoftPlayAttribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 1);
    CU_OK(m->granularity(&size, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
    REQUIRE_EQ(size, GRANULE);
    CU_OK(m->granularity(&size, &prop, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    REQUIRE(size > GRANULE && size % GRANULE == 0);
    prop.size = GRANULE + 1;
    CU_IS(m->create(&object, &prop), CUDA_ERROR_INVALID_VALUE);
    prop = of_two();
    prop.numDevices = 4;
    CU_IS(m->create(&object, &prop), CUDA_ERROR_INVALID_VALUE);
    prop.numDevices = 0;
    CU_IS(m->create(&object, &prop), CUDA_ERROR_INVALID_VALUE);
}

TEAM_CASE(bound, .own = true)
{
    const raw_cuda *cu = m->t.cu;
    const CUmulticastObjectProp prop = of_two();
    CUmemGenericAllocationHandle object = 0,
                                 third = twin_memory(cu, 2, 2 * GRANULE, CU_MEM_HANDLE_TYPE_NONE);
    CUmemAllocationProp found;
    CUdeviceptr plain = 0, multi = 0;
    uint32_t word = 0;
    CU_OK(m->create(&object, &prop));
    CU_IS(cu->MemGetAllocationPropertiesFromHandle(&found, object), CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->add(object, 0));
    CU_IS(m->add(object, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->add(object, 9), CUDA_ERROR_INVALID_DEVICE);
    CU_OK(m->add(object, 1));
    CU_IS(m->add(object, 2), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->bind(object, 0, third, 0, GRANULE, 0), CUDA_ERROR_INVALID_DEVICE);
    CU_IS(m->bind(object, 100, m->memory[0], 0, GRANULE, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->bind(object, 3 * GRANULE, m->memory[0], 0, 2 * GRANULE, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->bind(object, 0, m->memory[0], GRANULE, 2 * GRANULE, 0), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->bind(m->memory[0], 0, m->memory[0], 0, GRANULE, 0), CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->bind(object, 0, m->memory[0], 0, 2 * GRANULE, 0));
    CU_IS(m->bind(object, GRANULE, m->memory[0], 0, GRANULE, 0), CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->bind(object, GRANULE, m->memory[1], 0, GRANULE, 0));
    /* By address, the second half of the first memory. */
    CU_OK(cu->MemAddressReserve(&plain, 2 * GRANULE, 0, 0, 0));
    CU_OK(cu->MemMap(plain, 2 * GRANULE, 0, m->memory[0], 0));
    CU_OK(twin_allow(cu, 0, plain, 2 * GRANULE));
    CU_OK(m->bind_address(object, 3 * GRANULE, plain + GRANULE, GRANULE, 0));
    /* Mapped, it is the first device's memory. */
    CU_OK(cu->MemAddressReserve(&multi, prop.size, 0, 0, 0));
    CU_OK(cu->MemMap(multi, prop.size, 0, object, 0));
    CU_OK(twin_allow(cu, 0, multi, prop.size));
    CU_OK(cu->MemsetD32Async(multi + GRANULE, 0x33333333u, 16, m->t.stream));
    CU_OK(cu->StreamSynchronize(m->t.stream));
    CU_OK(cu->MemcpyDtoH(&word, plain + GRANULE, 4));
    REQUIRE_EQ(word, 0x33333333u);
    CU_OK(cu->MemcpyDtoH(&word, multi + 3 * GRANULE, 4));
    REQUIRE_EQ(word, 0x33333333u);
    CU_IS(m->unbind(object, 0, 0, GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU_IS(m->unbind(object, 2, 0, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->unbind(object, 0, 0, 2 * GRANULE));
    CU_OK(m->unbind(object, 1, GRANULE, GRANULE));
    CU_OK(cu->MemcpyDtoH(&word, multi + 3 * GRANULE, 4)); /* the other binding is there yet */
    REQUIRE_EQ(word, 0x33333333u);
    CU_OK(cu->MemUnmap(multi, prop.size));
    CU_OK(cu->MemUnmap(plain, 2 * GRANULE));
    CU_OK(cu->MemAddressFree(multi, prop.size));
    CU_OK(cu->MemAddressFree(plain, 2 * GRANULE));
    CU_OK(cu->MemRelease(third));
    CU_OK(cu->MemRelease(object)); /* with a binding, which goes with it */
}

/* Only exportable memory goes into an exportable object. */
TEAM_CASE(exportable, .own = true)
{
    CUmulticastObjectProp prop = of_two();
    CUmemGenericAllocationHandle object = 0;
    prop.numDevices = 1;
    prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle shareable =
        twin_memory(m->t.cu, 0, 2 * GRANULE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CU_OK(m->create(&object, &prop));
    CU_OK(m->add(object, 0));
    CU_IS(m->bind(object, 0, m->memory[0], 0, GRANULE, 0), CUDA_ERROR_INVALID_VALUE);
    CU_OK(m->bind(object, 0, shareable, 0, GRANULE, 0));
    int fd = -1;
    CU_IS(m->t.cu->MemExportToShareableHandle(&fd, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              0),
          CUDA_ERROR_NOT_SUPPORTED);
    CU_OK(m->t.cu->MemRelease(shareable));
    CU_OK(m->t.cu->MemRelease(object));
}

typedef struct waiting {
    team *m;
    CUmemGenericAllocationHandle object;
    _Atomic bool done;
} waiting;

static void *bind_early(void *arg)
{
    waiting *w = arg;
    CU_OK(w->m->bind(w->object, 0, w->m->memory[0], 0, GRANULE, 0));
    w->done = true;
    return NULL;
}

/* Binding waits for the last device (cuda.h), without holding up other calls. */
TEAM_CASE(waits_for_the_team, .own = true)
{
    const CUmulticastObjectProp prop = of_two();
    waiting w = {.m = m};
    pthread_t thread;
    CU_OK(m->create(&w.object, &prop));
    CU_OK(m->add(w.object, 0));
    REQUIRE_EQ(pthread_create(&thread, NULL, bind_early, &w), 0);
    usleep(50000);
    REQUIRE(!w.done);
    CU_OK(m->add(w.object, 1));
    REQUIRE_EQ(pthread_join(thread, NULL), 0);
    REQUIRE(w.done);
    CU_OK(m->unbind(w.object, 0, 0, GRANULE));
    CU_OK(m->t.cu->MemRelease(w.object));
}
