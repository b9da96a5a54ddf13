/* SPDX-License-Identifier: MIT */
/* Tests of culvert-mpi: what the cases share. */
#include "mpi_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSIDE "--inside"

/* What this MPI wants to hear, so that more ranks run than there are cores, as root too. */
void mpi_run(run_result *out, int ranks, bool one_dies, const char *const *arguments)
{
    char number[16];
    const char *argv[32] = {MPIEXEC};
    size_t n = 1;
    snprintf(number, sizeof number, "%d", ranks);
#if defined(OPEN_MPI)
    REQUIRE(setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1) == 0);
    REQUIRE(setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1) == 0);
    REQUIRE(setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1) == 0);
#    if OMPI_MAJOR_VERSION < 5
    argv[n++] = "--oversubscribe";
    if (one_dies) argv[n++] = "--enable-recovery";
#    else
    if (one_dies) argv[n++] = "--with-ft", argv[n++] = "ulfm";
#    endif
#else
    if (one_dies) argv[n++] = "-disable-auto-cleanup";
#endif
    argv[n++] = "-n";
    argv[n++] = number;
    for (size_t i = 0; arguments[i]; i++) {
        REQUIRE(n + 1 < sizeof argv / sizeof argv[0]);
        argv[n++] = arguments[i];
    }
    run_command(out, argv);
    if (out->status == 127) SKIP("there is no %s", MPIEXEC);
}

static void open_stage(mpi_stage *s)
{
    memset(s, 0, sizeof *s);
    REQUIRE_EQ(MPI_Init(NULL, NULL), MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &s->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s->ranks);
    if (s->rank == 0) {
        lib_open(&s->w);
    } else {
        s->w.cu = lib_driver();
        LIB_OK(culv_device_open_by_ordinal(0, NULL, &s->w.device));
        s->w.context = culv_device_context(s->w.device);
    }
    s->stream = lib_stream(&s->w);
    s->bytes = malloc(MPI_FRAME);
    REQUIRE(s->bytes != NULL);
    s->desc = culv_mpi_desc_init();
    s->desc.frame_size = MPI_FRAME;
    s->desc.timeout = MPI_FAR;
    s->desc.chunk_size = 4099; /* many, of an odd size */
    mpi_ranges(s);
}

bool mpi_ranks(mpi_stage *s, int ranks, const char *variable, bool one_dies)
{
    static run_result result;
    if (test_has_option(INSIDE)) {
        open_stage(s);
        return true;
    }
    char self[TEST_PATH_MAX], driver[32];
    const char *const arguments[] = {test_path(self, "bin/tests/mpi"), test_case_name(), driver,
                                     INSIDE, NULL};
    snprintf(driver, sizeof driver, "--driver=%s", run_device());
    if (variable) REQUIRE(putenv(strdup(variable)) == 0);
    mpi_run(&result, ranks, one_dies, arguments);
    if (result.status != 0)
        FAIL("%d ranks, %s: status %d\n%s", ranks, variable ? variable : "", result.status,
             result.text);
    return false;
}

/* The owner of a byte: stripes of each rank, from one end of the frame to the other. */
static int owner(uint64_t at, int ranks)
{
    const int parts = ranks > 3 ? ranks - 1 : ranks;
    const uint64_t stripe = MPI_FRAME / (uint64_t)(parts * MPI_MOST_RANGES) - 1;
    const uint64_t index = at / stripe;
    if (index >= (uint64_t)(parts * MPI_MOST_RANGES)) return -1; /* nobody's, at the end */
    const int part = (int)(index % (uint64_t)parts);
    return part < 3 ? part : part + 1; /* rank 3 has none */
}

void mpi_ranges(mpi_stage *s)
{
    uint64_t at = 0;
    s->desc.num_ranges = 0;
    while (at < MPI_FRAME) {
        const uint64_t from = at;
        const int mine = owner(at, s->ranks);
        while (at < MPI_FRAME && owner(at, s->ranks) == mine)
            at++;
        if (mine != s->rank) continue;
        REQUIRE(s->desc.num_ranges < MPI_MOST_RANGES);
        s->ranges[s->desc.num_ranges++] = (culv_mpi_range){from, at - from};
    }
    s->desc.ranges = s->ranges;
}

static uint8_t byte_of(uint64_t frame, uint64_t at)
{
    return (uint8_t)((at * 2654435761u + frame * 97u) >> 7);
}

void mpi_create(mpi_stage *s)
{
    LIB_OK(culv_mpi_create(s->w.device, MPI_COMM_WORLD, &s->desc, &s->mpi));
    for (uint32_t i = 0; s->rank == 0 && culv_mpi_slot(s->mpi, i); i++) {
        culv_vmm_allocation *allocation = culv_mpi_slot(s->mpi, i);
        culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
        LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
        const VkExternalMemoryBufferCreateInfo external = {
            .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
            .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
        VkBufferCreateInfo create = raw_vk_buffer_info(
            info.size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                           VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
        create.pNext = &external;
        raw_vk_buffer *b = &s->slots[i];
        *b = (raw_vk_buffer){.size = info.size, .flags = RAW_VK_IMPORT};
        REQUIRE_EQ(vkCreateBuffer(s->w.vk.device, &create, NULL, &b->buffer), VK_SUCCESS);
        LIB_OK(culv_vk_buffer_bind_vmm(s->w.attachment, b->buffer, allocation, 0, &b->memory));
        /* A byte that no rank writes is 0xee. */
        raw_vk_fill(&s->w.vk, b, 0, info.size, 0xeeeeeeee, NULL);
        raw_vk_idle(&s->w.vk);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* before a rank writes */
}

culv_result mpi_write(mpi_stage *s, uint64_t timeout)
{
    culv_mpi_part part = culv_mpi_part_init();
    const culv_result r = culv_mpi_acquire(s->mpi, timeout, &part);
    if (r != CULV_OK) return r;
    REQUIRE_EQ(part.num_ranges, s->desc.num_ranges);
    for (size_t i = 0; i < part.num_ranges; i++) {
        const culv_mpi_range range = s->ranges[i];
        for (uint64_t at = 0; at < range.size; at++)
            s->bytes[range.offset + at] = byte_of(part.number, range.offset + at);
        REQUIRE_EQ(culv_mpi_pointer(s->mpi, i) % 16, range.offset % 16);
        LIB_CU_OK(&s->w,
                  s->w.cu->MemcpyHtoDAsync(culv_mpi_pointer(s->mpi, i), s->bytes + range.offset,
                                           (size_t)range.size, s->stream));
    }
    return culv_mpi_release(s->mpi, s->stream);
}

void mpi_check(mpi_stage *s, const culv_mpi_frame *frame)
{
    raw_vk_read(&s->w.vk, &s->slots[frame->slot], 0, s->bytes, MPI_FRAME);
    for (uint64_t at = 0; at < MPI_FRAME; at++) {
        const int rank = owner(at, s->ranks);
        const uint8_t expected = rank < 0 ? 0xee : byte_of(frame->number, at);
        if (s->bytes[at] != expected)
            FAIL("frame %llu, byte %llu (of rank %d): %02x, not %02x",
                 (unsigned long long)frame->number, (unsigned long long)at, rank, s->bytes[at],
                 expected);
    }
}

void mpi_draw(mpi_stage *s, uint64_t number)
{
    culv_mpi_frame frame = culv_mpi_frame_init();
    LIB_OK(culv_mpi_acquire_frame(s->mpi, MPI_FAR, &frame));
    REQUIRE_EQ(frame.number, number);
    REQUIRE_EQ(frame.repeated, 0);
    mpi_check(s, &frame);
    LIB_OK(culv_mpi_release_frame(s->mpi, NULL, 0));
}

void mpi_close(mpi_stage *s)
{
    culv_mpi_destroy(&s->mpi);
    REQUIRE(s->mpi == NULL);
    for (uint32_t i = 0; s->rank == 0 && i < CULV_MPI_MAX_SLOTS; i++) {
        vkDestroyBuffer(s->w.vk.device, s->slots[i].buffer, NULL);
        vkFreeMemory(s->w.vk.device, s->slots[i].memory, NULL);
    }
    lib_stream_destroy(&s->w, s->stream);
    free(s->bytes);
    lib_settle(&s->w);
    culv_vk_detach(&s->w.attachment);
    lib_require_no_objects(&s->w);
    culv_device_close(&s->w.device);
    if (s->rank == 0) raw_vk_close(&s->w.vk);
    REQUIRE_EQ(MPI_Finalize(), MPI_SUCCESS);
}
