/* SPDX-License-Identifier: MIT */
/* Memory that goes to another process and comes from it, by file descriptors through a Unix socket.
 * The other process is this program again: it uses Culvert without a graphics API, and its case
 * fails where something fails there. */
#define TEST_GROUP "peers."
#include "foreign.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* What the two say to each other, with or without a file descriptor ---------------------------- */

typedef enum wire_what {
    WIRE_BYE,
    /* The fd is memory of cuMemCreate with bytes of `seed`; put those of seed + 1 there. */
    WIRE_VMM,
    /* The same, but the fd is a VkDeviceMemory. */
    WIRE_VULKAN,
    /* Make memory by cuMemCreate with bytes of `seed`, and send it. */
    WIRE_MAKE,
    /* The answer. */
    WIRE_DONE
} wire_what;

typedef struct wire_message {
    wire_what what;
    uint32_t seed;
    uint64_t bytes; /* that count */
    uint64_t size;  /* of the whole allocation */
} wire_message;

typedef union control {
    struct cmsghdr header; /* aligns it */
    char bytes[CMSG_SPACE(sizeof(int))];
} control;

/* fd is -1 for none. */
static bool wire_send(int socket, const wire_message *message, int fd)
{
    wire_message copy = *message;
    struct iovec data = {.iov_base = &copy, .iov_len = sizeof copy};
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    control with;

    if (fd >= 0) {
        memset(&with, 0, sizeof with);
        header.msg_control = with.bytes;
        header.msg_controllen = sizeof with.bytes;
        with.header.cmsg_level = SOL_SOCKET;
        with.header.cmsg_type = SCM_RIGHTS;
        with.header.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&with.header), &fd, sizeof fd);
    }
    return sendmsg(socket, &header, MSG_NOSIGNAL) == (ssize_t)sizeof copy;
}

static bool wire_receive(int socket, wire_message *message, int *fd)
{
    struct iovec data = {.iov_base = message, .iov_len = sizeof *message};
    control with;
    struct msghdr header = {.msg_iov = &data,
                            .msg_iovlen = 1,
                            .msg_control = with.bytes,
                            .msg_controllen = sizeof with.bytes};
    const struct cmsghdr *first;

    *fd = -1;
    memset(&with, 0, sizeof with);
    if (recvmsg(socket, &header, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *message) return false;
    first = CMSG_FIRSTHDR(&header);
    if (first && first->cmsg_type == SCM_RIGHTS) memcpy(fd, CMSG_DATA(first), sizeof *fd);
    return true;
}

static void map(culv_device *device, culv_vmm_allocation *memory, uint64_t size,
                culv_vmm_range **range)
{
    culv_vmm_range_desc d = culv_vmm_range_desc_init();

    d.size = size;
    CULV(culv_vmm_range_create(device, &d, range));
    CULV(culv_vmm_map(*range, 0, memory, NULL, 0));
}

static void unmap(culv_vmm_range **range)
{
    CULV(culv_vmm_unmap(*range, 0, culv_vmm_range_size(*range), NULL));
    CULV(culv_vmm_range_destroy(range));
}

/* The peer ------------------------------------------------------------------------------------- */

/* `uuid` has 32 digits. */
static culv_device *peer_device(const char *uuid)
{
    culv_device_desc d = culv_device_desc_init();
    culv_device *device;
    culv_uuid id;

    for (int i = 0; i < 16; i++)
        REQUIRE_EQ(sscanf(uuid + 2 * (size_t)i, "%2hhx", &id.bytes[i]), 1);
    d.driver = getenv("FOREIGN_PEER_SOFT") ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    if (d.driver == CULV_DRIVER_SOFT) CULV(culv_soft_enable());
    CULV(culv_device_open_by_uuid(&id, &d, &device));
    CU(CULV_CUDA(device)->cuCtxSetCurrent(culv_device_context(device)));
    return device;
}

/* Compares the memory, and writes it anew. */
static void turn(const culv_cuda_api *cu, CUdeviceptr at, uint64_t bytes, uint32_t seed)
{
    unsigned char *copy = malloc(bytes);

    REQUIRE(copy);
    CU(cu->cuMemcpyDtoH(copy, at, bytes));
    app_require_bytes("what the peer sees", copy, 0, bytes, seed);
    app_fill_host(copy, 0, bytes, seed + 1);
    CU(cu->cuMemcpyHtoD(at, copy, bytes));
    CU(cu->cuMemcpyDtoH(copy, at, bytes)); /* it is there at the return */
    free(copy);
}

static void touch(culv_device *device, const wire_message *question, int fd)
{
    culv_vmm_import_desc vd = culv_vmm_import_desc_init();
    culv_memory_desc md = culv_memory_desc_init();
    culv_vmm_allocation *allocation;
    culv_vmm_range *range;
    culv_memory *memory;
    culv_buffer *buffer;

    vd.handle = md.handle = culv_handle_opaque_fd(fd);
    vd.size = md.size = question->size;
    if (question->what == WIRE_VMM) {
        CULV(culv_vmm_import(device, &vd, &allocation));
        map(device, allocation, vd.size, &range);
        turn(CULV_CUDA(device), culv_vmm_range_pointer(range), question->bytes, question->seed);
        unmap(&range);
        culv_vmm_allocation_destroy(&allocation);
    } else {
        CULV(culv_memory_import(device, &md, &memory));
        CULV(culv_buffer_map(memory, NULL, &buffer));
        turn(CULV_CUDA(device), culv_buffer_pointer(buffer), question->bytes, question->seed);
        culv_buffer_unmap(&buffer, NULL);
        culv_memory_destroy(&memory);
    }
}

/* The file descriptor of new memory. */
static int make(culv_device *device, const wire_message *question, uint64_t *size)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    unsigned char *data = malloc(question->bytes);
    culv_vmm_allocation *memory;
    culv_vmm_range *range;
    culv_handle handle;

    REQUIRE(data);
    d.size = question->bytes;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    app_fill_host(data, 0, question->bytes, question->seed);
    CULV(culv_vmm_allocation_create(device, &d, &memory));
    CULV(culv_vmm_allocation_get_info(memory, &info));
    map(device, memory, info.size, &range);
    CU(CULV_CUDA(device)->cuMemcpyHtoD(culv_vmm_range_pointer(range), data, question->bytes));
    CU(CULV_CUDA(device)->cuMemcpyDtoH(data, culv_vmm_range_pointer(range), question->bytes));
    CULV(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    unmap(&range);
    culv_vmm_allocation_destroy(&memory);
    free(data);
    *size = info.size;
    return handle.value.fd;
}

TEST(peer, .own = true)
{
    const char *text = getenv("FOREIGN_PEER");
    wire_message question, reply = {.what = WIRE_DONE};
    int socket, fd;

    if (!text) SKIP("only as a child");
    REQUIRE_EQ(sscanf(text, "%d", &socket), 1);
    culv_device *device = peer_device(strchr(text, ' ') + 1);
    while (wire_receive(socket, &question, &fd) && question.what != WIRE_BYE) {
        int out = -1;

        if (question.what == WIRE_MAKE)
            out = make(device, &question, &reply.size);
        else
            touch(device, &question, fd);
        REQUIRE(wire_send(socket, &reply, out));
        if (fd >= 0) close(fd);
        if (out >= 0) close(out);
    }
    REQUIRE_EQ(question.what, WIRE_BYE);
    culv_device_close(&device);
}

/* The other side ------------------------------------------------------------------------------- */

typedef struct peer_process {
    pid_t pid;
    int socket;
} peer_process;

static void start(app *a, peer_process *p)
{
    char program[TEST_PATH_MAX], text[64], driver[32];
    size_t length;
    int sockets[2];

    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    const int theirs = dup(sockets[1]); /* not closed on exec */
    REQUIRE(theirs >= 0);
    close(sockets[1]);
    length = (size_t)snprintf(text, sizeof text, "%d ", theirs);
    for (size_t i = 0; i < 16; i++)
        snprintf(text + length + 2 * i, 3, "%02x", a->caps.uuid.bytes[i]);
    REQUIRE_EQ(setenv("FOREIGN_PEER", text, 1), 0);
    if (a->caps.is_software) REQUIRE_EQ(setenv("FOREIGN_PEER_SOFT", "1", 1), 0);
    snprintf(driver, sizeof driver, "--driver=%s",
             test_driver() == TEST_DRIVER_SOFT ? "soft" : "auto");

    char *const arguments[] = {(char *)(uintptr_t)test_path(program, "bin/tests/foreign"),
                               (char *)(uintptr_t) "peers.peer", driver, NULL};
    REQUIRE_EQ(posix_spawn(&p->pid, arguments[0], NULL, NULL, arguments, environ), 0);
    close(theirs);
    p->socket = sockets[0];
}

static void ask(peer_process *p, const wire_message *question, int fd, wire_message *reply,
                int *out)
{
    if (!wire_send(p->socket, question, fd) || !wire_receive(p->socket, reply, out))
        FAIL("question %d: the peer is gone", (int)question->what);
}

static void stop(peer_process *p)
{
    const wire_message bye = {.what = WIRE_BYE};
    int status;

    REQUIRE(wire_send(p->socket, &bye, -1));
    REQUIRE_EQ(waitpid(p->pid, &status, 0), p->pid);
    REQUIRE(WIFEXITED(status));
    REQUIRE_EQ(WEXITSTATUS(status), 0);
    close(p->socket);
}

static VkBuffer make_buffer(app *a, uint64_t size)
{
    const VkBufferCreateInfo info =
        app_buffer_info(size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    VkBuffer buffer;

    VK(vkCreateBuffer(a->device, &info, NULL, &buffer));
    return buffer;
}

static void read_buffer(app *a, VkBuffer buffer, uint64_t size, uint32_t seed, const char *what)
{
    app_host host;
    VkCommandBuffer commands = app_begin(a);

    app_host_create(a, size, &host);
    app_transfer_buffer(a, commands, buffer, CULV_VK_ACQUIRE, CULV_VK_USE_TRANSFER_SRC);
    app_record_read(commands, buffer, 0, &host, 0, size);
    app_transfer_buffer(a, commands, buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_SRC);
    app_run(a, commands, &(app_sync){0});
    app_require_bytes(what, host.data, 0, size, seed);
    app_host_destroy(a, &host);
}

/* Memory of this process' CUDA: written here, changed there, read by Vulkan here. */
static void send_vmm(app *a, peer_process *p, uint64_t bytes)
{
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    culv_vmm_allocation *memory;
    culv_vmm_range *range;
    culv_handle handle;
    wire_message reply;
    VkDeviceMemory vulkan;
    int none;

    d.size = bytes;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    CULV(culv_vmm_allocation_create(a->culvert, &d, &memory));
    CULV(culv_vmm_allocation_get_info(memory, &info));
    map(a->culvert, memory, info.size, &range);
    app_fill(a, culv_vmm_range_pointer(range), 0, bytes, 21);
    CU(a->cu->cuStreamSynchronize(a->stream));
    CULV(culv_vmm_export_dup(memory, CULV_HANDLE_OPAQUE_FD, &handle));
    ask(p, &(wire_message){.what = WIRE_VMM, .seed = 21, .bytes = bytes, .size = info.size},
        handle.value.fd, &reply, &none);
    culv_handle_close(&handle);

    VkBuffer buffer = make_buffer(a, bytes);
    CULV(culv_vk_buffer_bind_vmm(a->vk, buffer, memory, 0, &vulkan));
    read_buffer(a, buffer, bytes, 22, "what the peer wrote to CUDA's memory");
    vkDestroyBuffer(a->device, buffer, NULL);
    vkFreeMemory(a->device, vulkan, NULL);
    unmap(&range);
    culv_vmm_allocation_destroy(&memory);
}

/* Memory of the peer's: read by CUDA and by Vulkan here. */
static void receive_vmm(app *a, peer_process *p, uint64_t bytes)
{
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    culv_vk_memory_from_handle_desc v = culv_vk_memory_from_handle_desc_init();
    culv_vmm_allocation *memory;
    culv_vmm_range *range;
    wire_message reply;
    VkDeviceMemory vulkan;
    unsigned char *copy = malloc(bytes);
    int fd;

    REQUIRE(copy);
    ask(p, &(wire_message){.what = WIRE_MAKE, .seed = 31, .bytes = bytes}, -1, &reply, &fd);
    REQUIRE(fd >= 0);

    VkBuffer buffer = make_buffer(a, bytes);
    v.handle = culv_handle_opaque_fd(fd);
    v.size = reply.size;
    v.buffer = buffer;
    memcpy(&v.exporter, &a->caps.uuid, sizeof v.exporter);
    CULV(culv_vk_memory_from_handle(a->vk, &v, &vulkan));
    VK(vkBindBufferMemory(a->device, buffer, vulkan, 0));
    read_buffer(a, buffer, bytes, 31, "what Vulkan reads of the peer's memory");

    d.handle = culv_handle_opaque_fd(fd);
    d.size = reply.size;
    CULV(culv_vmm_import(a->culvert, &d, &memory));
    culv_handle_close(&d.handle); /* and the fd with it */
    map(a->culvert, memory, reply.size, &range);
    CU(a->cu->cuMemcpyDtoHAsync(copy, culv_vmm_range_pointer(range), bytes, a->stream));
    CU(a->cu->cuStreamSynchronize(a->stream));
    app_require_bytes("what CUDA reads of the peer's memory", copy, 0, bytes, 31);

    app_fill(a, culv_vmm_range_pointer(range), 0, bytes, 32);
    CU(a->cu->cuStreamSynchronize(a->stream));
    read_buffer(a, buffer, bytes, 32, "what CUDA wrote to the peer's memory");

    free(copy);
    vkDestroyBuffer(a->device, buffer, NULL);
    vkFreeMemory(a->device, vulkan, NULL);
    unmap(&range);
    culv_vmm_allocation_destroy(&memory);
}

/* Memory of this process' Vulkan: written here, changed by the peer's CUDA, read here. */
static void send_vulkan(app *a, peer_process *p, uint64_t bytes)
{
    const VkExportMemoryAllocateInfo exported = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferCopy all = {.size = bytes};
    VkBuffer buffer = make_buffer(a, bytes);
    VkMemoryRequirements needs;
    VkDeviceMemory memory;
    culv_handle handle;
    wire_message reply;
    app_host host;
    int none;

    vkGetBufferMemoryRequirements(a->device, buffer, &needs);
    const VkMemoryAllocateInfo allocation = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &exported,
        .allocationSize = needs.size,
        .memoryTypeIndex =
            app_memory_type(a, needs.memoryTypeBits, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)};
    VK(vkAllocateMemory(a->device, &allocation, NULL, &memory));
    VK(vkBindBufferMemory(a->device, buffer, memory, 0));
    app_host_create(a, bytes, &host);
    app_fill_host(host.data, 0, bytes, 41);
    VkCommandBuffer commands = app_begin(a);
    vkCmdCopyBuffer(commands, host.buffer, buffer, 1, &all);
    app_transfer_buffer(a, commands, buffer, CULV_VK_RELEASE, CULV_VK_USE_TRANSFER_DST);
    app_run(a, commands, &(app_sync){0});

    CULV(culv_vk_memory_export_dup(a->vk, memory, CULV_HANDLE_OPAQUE_FD, &handle));
    ask(p, &(wire_message){.what = WIRE_VULKAN, .seed = 41, .bytes = bytes, .size = needs.size},
        handle.value.fd, &reply, &none);
    culv_handle_close(&handle);
    read_buffer(a, buffer, bytes, 42, "what the peer wrote to Vulkan's memory");

    app_host_destroy(a, &host);
    vkDestroyBuffer(a->device, buffer, NULL);
    vkFreeMemory(a->device, memory, NULL);
}

TEST(with_culvert, .own = true)
{
    const uint64_t table[] = {1, 4097, 819200, (2u << 20) + 1};
    app a;
    peer_process p;

    app_open(&a);
    start(&a, &p);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (a.caps.vmm_posix_fd) {
            send_vmm(&a, &p, table[i]);
            receive_vmm(&a, &p, table[i]);
        }
        send_vulkan(&a, &p, table[i]);
    }
    stop(&p);
    app_close(&a);
}
