#!/bin/sh
# Two buffers that libplacebo exports are one file, and each descriptor opens both.
# Version: libplacebo-dev 4.208.0-3 on mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: pl_buf_create with export_handle = PL_HANDLE_FD gives each buffer of 10,000 bytes memory
#   and a descriptor of its own, which a peer (CUDA, OpenGL, another process) imports at offset 0.
# Behaviour: exported buffers are pieces of a slab of 262,144 bytes like all others. Both have the
#   same descriptor number; the second lies at offset 12,288. An importer must pass
#   shared_mem.size and shared_mem.offset, and the peer that gets one buffer can read and write
#   the other.
# Seen: first: 262144 bytes, offset 0; second: 262144 bytes, offset 12288; same descriptor 1; through the first's descriptor the second's bytes are seen
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
debian12 libplacebo-dev=4.208.0-3
compile slab -lplacebo <<'END'
#include <libplacebo/vulkan.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    struct pl_vulkan_params choice = pl_vulkan_default_params;
    struct pl_buf_params wish = {
        .size = 10000, .storable = true, .host_writable = true, .export_handle = PL_HANDLE_FD};
    static char file[1 << 20];
    const char text[16] = "of the second";
    pl_log log = pl_log_create(PL_API_VER, NULL);
    choice.allow_software = true;
    pl_vulkan vulkan = pl_vulkan_create(log, &choice);
    if (!vulkan) return 3;
    pl_buf first = pl_buf_create(vulkan->gpu, &wish), second = pl_buf_create(vulkan->gpu, &wish);
    if (!first || !second) return 3;
    const struct pl_shared_mem *a = &first->shared_mem, *b = &second->shared_mem;
    pl_buf_write(vulkan->gpu, second, 0, text, sizeof text);
    pl_gpu_finish(vulkan->gpu);
    ssize_t size = pread(a->handle.fd, file, sizeof file, 0);
    printf(
        "first: %zu bytes, offset %zu; second: %zu bytes, offset %zu; same descriptor %d; through the first's descriptor the second's bytes are %s\n",
        a->size, a->offset, b->size, b->offset, a->handle.fd == b->handle.fd,
        size > 0 && memmem(file, (size_t)size, text, sizeof text) ? "seen" : "not seen");
    return 0;
}
END
same "first: 262144 bytes, offset 0; second: 262144 bytes, offset 12288; same descriptor 1; through the first's descriptor the second's bytes are seen" \
    "$("$work/slab")"
