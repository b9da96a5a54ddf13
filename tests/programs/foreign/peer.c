/* SPDX-License-Identifier: MIT */
/* foreign-peer WAY DRIVER DEVICE SOCKET: a process that is sent memory and changes it, and that
 * sends some. */
#include "peer.h"

#include "bytes.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool peer_turn(unsigned char *data, uint64_t bytes, uint32_t seed, char why[256])
{
    uint64_t at = 0;
    const uint64_t wrong = app_wrong_bytes(data, 0, bytes, seed, &at);

    if (wrong != 0) {
        snprintf(why, 256, "the peer sees %llu of %llu wrong bytes, the first at %llu",
                 (unsigned long long)wrong, (unsigned long long)bytes, (unsigned long long)at);
        return false;
    }
    app_fill_host(data, 0, bytes, seed + 1);
    return true;
}

static bool answer(const peer_way *way, const wire_message *question, int fd, wire_message *reply,
                   int *out)
{
    switch (question->what) {
    case WIRE_VMM:
        return way->touch_vmm(fd, question->size, question->bytes, question->seed, reply->why);
    case WIRE_VULKAN:
        return way->touch_vulkan(fd, question->size, question->bytes, question->seed, reply->why);
    case WIRE_MAKE:
        return way->make(question->bytes, question->seed, out, &reply->size, reply->why);
    default:
        snprintf(reply->why, sizeof reply->why, "no question: %d", (int)question->what);
        return false;
    }
}

int main(int argc, char **argv)
{
    wire_message question, reply = {.what = WIRE_FAILED};
    int fd, out;

    if (argc != 5) {
        fprintf(stderr, "usage: %s raw|culvert DRIVER DEVICE SOCKET\n", argv[0]);
        return 2;
    }
    const int socket = atoi(argv[4]);
    const peer_way *way = strcmp(argv[1], "raw") == 0 ? &peer_raw : &peer_culvert;
    const bool opened = way->open(argv[2], argv[3], reply.why);

    while (wire_receive(socket, &question, &fd)) {
        if (question.what == WIRE_BYE) return 0;
        out = -1;
        if (opened) {
            memset(&reply, 0, sizeof reply);
            reply.what = answer(way, &question, fd, &reply, &out) ? WIRE_DONE : WIRE_FAILED;
        }
        if (!wire_send(socket, &reply, out)) return 1;
        if (fd >= 0) close(fd);
        if (out >= 0) close(out);
    }
    return 1;
}
