/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: fabric handles, where culvSoftPlayFabric says that there is an IMEX
 * channel. The bytes say which file of which process holds the memory. */
#include "vmm.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "culvfab"
struct bytes { /* CUmemFabricHandle */
    char magic[8];
    uint64_t device, inode; /* of the file */
    int32_t process, fd;
    uint8_t rest[32];
};
_Static_assert(sizeof(struct bytes) == 64, "as cuda.h has it");

static bool channel;

void culvSoftPlayFabric(int has_channel)
{
    pthread_mutex_lock(&soft.lock);
    channel = has_channel != 0;
    pthread_mutex_unlock(&soft.lock);
}

bool soft_fabric_channel(void)
{
    return channel;
}

bool soft_fabric_write(int file, void *out)
{
    struct bytes b = {.magic = MAGIC, .process = (int32_t)getpid(), .fd = file};
    struct stat st;
    if (fstat(file, &st) != 0) return false;
    b.device = (uint64_t)st.st_dev;
    b.inode = (uint64_t)st.st_ino;
    memcpy(out, &b, sizeof(b));
    return true;
}

int soft_fabric_open(const void *handle)
{
    struct bytes b;
    struct stat st;
    char path[64];
    memcpy(&b, handle, sizeof(b));
    if (memcmp(b.magic, MAGIC, sizeof(b.magic)) != 0) return -1;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)b.process, (int)b.fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_dev == b.device &&
        (uint64_t)st.st_ino == b.inode)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}
