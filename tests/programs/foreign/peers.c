/* SPDX-License-Identifier: MIT */
/* Memory that goes to another process and comes from it, by file descriptors through a Unix socket.
 * The other process is foreign-peer. */
#define TEST_GROUP "peers."
#include "foreign.h"
#include "wire.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct peer {
    pid_t pid;
    int socket;
} peer;

static void start(app *a, peer *p)
{
    char program[TEST_PATH_MAX], device[33], number[16];
    int sockets[2];

    REQUIRE_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    const int theirs = dup(sockets[1]); /* not closed on exec */
    REQUIRE(theirs >= 0);
    close(sockets[1]);
    snprintf(number, sizeof number, "%d", theirs);
    for (size_t i = 0; i < 16; i++)
        snprintf(device + 2 * i, 3, "%02x", a->caps.uuid.bytes[i]);

    char *const arguments[] = {
        (char *)(uintptr_t)test_path(program, "bin/tests/foreign-peer"),
        (char *)(uintptr_t)(a->caps.is_software ? "soft" : "nvidia"),
        device,
        number,
        NULL,
    };
    REQUIRE_EQ(posix_spawn(&p->pid, arguments[0], NULL, NULL, arguments, environ), 0);
    close(theirs);
    p->socket = sockets[0];
}

static void ask(peer *p, const wire_message *question, int fd, wire_message *reply, int *out)
{
    if (!wire_send(p->socket, question, fd) || !wire_receive(p->socket, reply, out))
        FAIL("the peer is gone");
    if (reply->what != WIRE_DONE) FAIL("question %d: %s", (int)question->what, reply->why);
}

static void stop(peer *p)
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

static void map(app *a, culv_vmm_allocation *memory, uint64_t size, culv_vmm_range **range)
{
    culv_vmm_range_desc d = culv_vmm_range_desc_init();

    d.size = size;
    CULV(culv_vmm_range_create(a->culvert, &d, range));
    CULV(culv_vmm_map(*range, 0, memory, NULL, 0));
}

static void unmap(culv_vmm_range **range)
{
    CULV(culv_vmm_unmap(*range, 0, culv_vmm_range_size(*range), NULL));
    CULV(culv_vmm_range_destroy(range));
}

/* Memory of this process' CUDA: written here, changed there, read by Vulkan here. */
static void send_vmm(app *a, peer *p, uint64_t bytes)
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
    map(a, memory, info.size, &range);
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
static void receive_vmm(app *a, peer *p, uint64_t bytes)
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
    map(a, memory, reply.size, &range);
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
static void send_vulkan(app *a, peer *p, uint64_t bytes)
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
    peer p;

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
