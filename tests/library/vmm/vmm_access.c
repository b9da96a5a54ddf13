/* SPDX-License-Identifier: MIT */
/* Virtual memory management: who may do what, on one device and on two. */
#define TEST_GROUP "access."
#include "vmm_stage.h"

enum { WORDS = 1000 };

static culv_vmm_access_flags access_of(culv_vmm_range *range, uint64_t block, culv_device *device)
{
    culv_vmm_access a = {.device = device, .flags = (culv_vmm_access_flags)2};
    LIB_OK(culv_vmm_get_access(range, block * VMM_BLOCK + 5, &a));
    return a.flags;
}

VMM_CASE(changed)
{
    culv_vmm_range *range = vmm_range(s, 4);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0), *two = vmm_allocation(s, 2, 0);
    const culv_vmm_access none = {.flags = CULV_VMM_ACCESS_NONE},
                          reads = {.flags = CULV_VMM_ACCESS_READ};
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, two, &none, 1));
    REQUIRE_EQ(access_of(range, 0, NULL), CULV_VMM_ACCESS_READ_WRITE);
    REQUIRE_EQ(access_of(range, 2, s->w.device), CULV_VMM_ACCESS_NONE);
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 1);
    REQUIRE(vmm_try_read(s, vmm_address(range, 1)) != CUDA_SUCCESS); /* and the context lives: */
    LIB_OK(culv_vmm_set_access(range, 0, 4 * VMM_BLOCK, &reads, 1));
    for (uint64_t i = 0; i < 3; i++)
        REQUIRE_EQ(access_of(range, i, NULL), CULV_VMM_ACCESS_READ);
    vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 0), WORDS, 1);
    REQUIRE_EQ(vmm_try_read(s, vmm_address(range, 1)), CUDA_SUCCESS);
    LIB_OK(culv_vmm_set_access(range, VMM_BLOCK, 2 * VMM_BLOCK, NULL, 0));
    REQUIRE_EQ(access_of(range, 0, NULL), CULV_VMM_ACCESS_READ);
    REQUIRE_EQ(access_of(range, 1, NULL), CULV_VMM_ACCESS_READ_WRITE);
    vmm_write(s->w.device, s->w.cu, vmm_address(range, 1), WORDS, 2);
    vmm_require_words(s->w.device, s->w.cu, vmm_address(range, 1), WORDS, 2);
    /* A mapping that comes anew has its own access, not the last one's. */
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    REQUIRE_EQ(access_of(range, 0, NULL), CULV_VMM_ACCESS_READ_WRITE);
    LIB_OK(culv_vmm_unmap(range, 0, 4 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&two);
}

/* What a copy to memory that is only to be read does is the driver's affair; that it does not write
 * is not. */
TEST(read_only, .faults = true)
{
    vmm_stage s;
    vmm_stage_open(&s);
    culv_vmm_range *range = vmm_range(&s, 2);
    culv_vmm_allocation *one = vmm_allocation(&s, 1, 0);
    const culv_vmm_access reads = {.flags = CULV_VMM_ACCESS_READ};
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, one, &reads, 1));
    vmm_write(s.w.device, s.w.cu, vmm_address(range, 0), WORDS, 1);
    vmm_require_words(s.w.device, s.w.cu, vmm_address(range, 1), WORDS, 1);
    CUresult r = vmm_try_write(&s, vmm_address(range, 1));
    MEASURED("library.vmm_copy_to_read_only", "%s", raw_cuda_result_name(r));
    REQUIRE(r != CUDA_SUCCESS);
    test_pass(); /* the context may be broken now */
}

static bool reach(const vmm_stage *s)
{
    int there = 0, back = 0;
    CU_OK(s->w.cu->DeviceCanAccessPeer(&there, 0, 1));
    CU_OK(s->w.cu->DeviceCanAccessPeer(&back, 1, 0));
    return there && back;
}

/* So is one of what another GPU was granted after the mapping was made. */
VMM_TWO_CASE(taken_back_of_peers)
{
    if (s->w.cu->SoftFailAt == NULL) SKIP("only the twin fails on demand");
    culv_vmm_range *range = vmm_range(s, 2);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0);
    const culv_vmm_access all[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                   {.device = s->other, .flags = CULV_VMM_ACCESS_READ_WRITE}},
                          less = {.device = s->other, .flags = CULV_VMM_ACCESS_NONE};
    for (uint64_t i = 0; i < 2; i++)
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, one, NULL, 0));
    LIB_OK(culv_vmm_set_access(range, 0, 2 * VMM_BLOCK, &all[1], 1));
    unsigned refused = 0;
    for (uint64_t n = 1; n < 30; n++) {
        s->w.cu->SoftFailAt(n, CUDA_ERROR_OUT_OF_MEMORY);
        culv_result r = culv_vmm_set_access(range, 0, 2 * VMM_BLOCK, &less, 1);
        const char *call = s->w.cu->SoftFailedCall();
        s->w.cu->SoftFailAt(0, 0);
        for (uint64_t i = 0; i < 2; i++)
            REQUIRE_EQ(access_of(range, i, s->other),
                       r == CULV_OK ? CULV_VMM_ACCESS_NONE : CULV_VMM_ACCESS_READ_WRITE);
        if (call == NULL) break;
        refused += r != CULV_OK;
        LIB_OK(culv_vmm_set_access(range, 0, 2 * VMM_BLOCK, all, 2));
    }
    REQUIRE(refused >= 2);
    LIB_OK(culv_vmm_unmap(range, 0, 2 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
}

/* The other GPU writes, this one reads; and one that was told nothing has nothing. */
VMM_TWO_CASE(peers)
{
    if (!reach(s)) SKIP("the GPUs are no peers");
    const raw_cuda *cu = s->w.cu;
    culv_vmm_range *range = vmm_range(s, 2);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0);
    const culv_vmm_access both[] = {{.flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = s->other, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    REQUIRE_EQ(access_of(range, 0, s->other), CULV_VMM_ACCESS_NONE);
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, one, both, 2));
    REQUIRE_EQ(access_of(range, 1, s->other), CULV_VMM_ACCESS_READ_WRITE);
    vmm_write(s->other, cu, vmm_address(range, 1), WORDS, 3);
    vmm_require_words(s->w.device, cu, vmm_address(range, 1), WORDS, 3);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), WORDS, 3);
    /* Granting adds; what is to go is named. */
    const culv_vmm_access gone = {.device = s->other, .flags = CULV_VMM_ACCESS_NONE};
    LIB_OK(culv_vmm_set_access(range, VMM_BLOCK, VMM_BLOCK, both, 1));
    REQUIRE_EQ(access_of(range, 1, s->other), CULV_VMM_ACCESS_READ_WRITE);
    LIB_OK(culv_vmm_set_access(range, VMM_BLOCK, VMM_BLOCK, &gone, 1));
    REQUIRE_EQ(access_of(range, 1, s->other), CULV_VMM_ACCESS_NONE);
    REQUIRE_EQ(access_of(range, 1, NULL), CULV_VMM_ACCESS_READ_WRITE);
    LIB_OK(culv_vmm_set_access(range, 0, 2 * VMM_BLOCK, both, 2));
    REQUIRE_EQ(access_of(range, 0, s->other), CULV_VMM_ACCESS_READ_WRITE);
    LIB_OK(culv_vmm_unmap(range, 0, 2 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
}

/* One array of addresses, every other piece of it on the other GPU. */
VMM_TWO_CASE(striped)
{
    if (!reach(s)) SKIP("the GPUs are no peers");
    const raw_cuda *cu = s->w.cu;
    enum { PIECES = 4 };
    culv_vmm_range *range = vmm_range(s, PIECES);
    culv_vmm_allocation *pieces[PIECES];
    const culv_vmm_access both[] = {{.device = s->w.device, .flags = CULV_VMM_ACCESS_READ_WRITE},
                                    {.device = s->other, .flags = CULV_VMM_ACCESS_READ_WRITE}};
    for (uint64_t i = 0; i < PIECES; i++) {
        pieces[i] = vmm_allocation_on(i % 2 == 0 ? s->w.device : s->other, 1, 0, "stripe");
        LIB_OK(culv_vmm_map(range, i * VMM_BLOCK, pieces[i], both, 2));
    }
    culv_device_counts c = lib_counts(&s->w);
    REQUIRE(c.vmm_allocations == 2 && c.vmm_mappings == PIECES);
    vmm_write(s->w.device, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 7);
    vmm_require_words(s->other, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 7);
    const culv_vmm_access reads = {.device = s->other, .flags = CULV_VMM_ACCESS_READ};
    LIB_OK(culv_vmm_set_access(range, 0, PIECES * VMM_BLOCK, &reads, 1));
    for (uint64_t i = 0; i < PIECES; i++) {
        REQUIRE_EQ(access_of(range, i, s->other), CULV_VMM_ACCESS_READ);
        REQUIRE_EQ(access_of(range, i, s->w.device), CULV_VMM_ACCESS_READ_WRITE);
    }
    /* The other GPU's pieces outlive its device's handle. */
    culv_vmm_allocation_destroy(&pieces[1]);
    culv_vmm_allocation_destroy(&pieces[3]);
    culv_device_close(&s->other);
    vmm_require_words(s->w.device, cu, vmm_address(range, 0), PIECES * VMM_BLOCK / 4, 7);
    LIB_OK(culv_vmm_unmap(range, 0, PIECES * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&pieces[0]);
    culv_vmm_allocation_destroy(&pieces[2]);
    if (cu->software) s->fds = test_open_fds(); /* the other one's are gone */
}

VMM_TWO_CASE(no_peers)
{
    if (s->w.cu->SoftBarPeers != NULL)
        s->w.cu->SoftBarPeers(1);
    else if (reach(s))
        SKIP("the GPUs are peers");
    culv_vmm_range *range = vmm_range(s, 1);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0),
                        *theirs = vmm_allocation_on(s->other, 1, 0, NULL);
    const culv_vmm_access other = {.device = s->other, .flags = CULV_VMM_ACCESS_READ};
    LIB_INVALID(culv_vmm_map(range, 0, one, &other, 1), PEER, "cuDeviceCanAccessPeer");
    LIB_INVALID(culv_vmm_map(range, 0, theirs, NULL, 0), PEER);
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_INVALID(culv_vmm_set_access(range, 0, VMM_BLOCK, &other, 1), PEER);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&theirs);
    if (s->w.cu->SoftBarPeers != NULL) s->w.cu->SoftBarPeers(0);
}

/* Who reaches memory is asked of each owner: both were peers when this was mapped. */
VMM_TWO_CASE(two_owners)
{
    if (s->w.cu->SoftBarPeers == NULL) SKIP("only the twin plays GPUs that are no peers any more");
    culv_vmm_range *range = vmm_range(s, 3);
    culv_vmm_allocation *one = vmm_allocation(s, 1, 0),
                        *theirs = vmm_allocation_on(s->other, 1, 0, NULL);
    const culv_vmm_access reads = {.flags = CULV_VMM_ACCESS_READ},
                          other = {.device = s->other, .flags = CULV_VMM_ACCESS_READ};
    LIB_OK(culv_vmm_map(range, 0, one, NULL, 0));
    LIB_OK(culv_vmm_map(range, VMM_BLOCK, theirs, NULL, 0));
    LIB_OK(culv_vmm_map(range, 2 * VMM_BLOCK, one, NULL, 0));
    s->w.cu->SoftBarPeers(1);
    static const struct {
        uint64_t first, count;
        bool own, others; /* may be granted to the first GPU, and to the other one */
    } rows[] = {{0, 1, true, false},  {1, 1, false, true},  {2, 1, true, false},
                {0, 2, false, false}, {1, 2, false, false}, {0, 3, false, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int of_other = 0; of_other < 2; of_other++) {
            const bool may = of_other ? rows[i].others : rows[i].own;
            lib_forget_error();
            const culv_result result =
                culv_vmm_set_access(range, rows[i].first * VMM_BLOCK, rows[i].count * VMM_BLOCK,
                                    of_other ? &other : &reads, 1);
            if (may) {
                LIB_OK(result);
            } else {
                lib_require_error(__FILE__, __LINE__, "culv_vmm_set_access", result,
                                  CULV_ERROR_INVALID, CULV_REASON_PEER, "cuDeviceCanAccessPeer",
                                  (const char *)NULL);
            }
        }
    s->w.cu->SoftBarPeers(0);
    LIB_OK(culv_vmm_unmap(range, 0, 3 * VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&one);
    culv_vmm_allocation_destroy(&theirs);
}

/* A handle of the other GPU's memory is that GPU's. */
VMM_TWO_CASE(retained_elsewhere)
{
    if (!reach(s)) SKIP("the GPUs are no peers");
    culv_vmm_range *range = vmm_range(s, 1);
    culv_vmm_allocation *theirs = vmm_allocation_on(s->other, 1, 0, NULL), *again = NULL;
    LIB_OK(culv_vmm_map(range, 0, theirs, NULL, 0));
    LIB_REFUSES(again, culv_vmm_allocation_retain_at(s->w.device, vmm_address(range, 0), &again),
                INVALID, DEVICE_MISMATCH);
    LIB_OK(culv_vmm_allocation_retain_at(s->other, vmm_address(range, 0), &again));
    culv_device_caps caps = lib_caps(s->other);
    culv_vmm_allocation_info info = lib_allocation(again);
    REQUIRE_EQ_BYTES(&info.device, &caps.uuid, sizeof caps.uuid);
    culv_vmm_allocation_destroy(&again);
    LIB_OK(culv_vmm_unmap(range, 0, VMM_BLOCK, NULL));
    LIB_OK(culv_vmm_range_destroy(&range));
    culv_vmm_allocation_destroy(&theirs);
}
