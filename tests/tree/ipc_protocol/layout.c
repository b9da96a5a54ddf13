/* SPDX-License-Identifier: MIT */
/* Prints the layout of the protocol between processes from the lists that the library itself reads
 * and writes by: scripts/ipc-protocol makes the tables of docs/ipc-protocol.md of it.
 *
 *   field  TABLE  NAME  OFFSET  SIZE  FORM  LEAST  MOST
 *   value  TABLE  NAME  NUMBER */
#include "ipc/ipc_line.h"
#include "ipc/ipc_wire.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

static void tell(void *table, const culvi_ipc_field *f)
{
    static const char *const forms[] = {"number", "name", "text", "cut text", "bytes"};
    printf("field\t%s\t%s\t%zu\t%zu\t%s\t%" PRIu64 "\t%" PRIu64 "\n", (const char *)table, f->name,
           f->offset, f->size, forms[f->form], f->least, f->most);
}

static void message(culvi_ipc_type type, bool answer, culv_ipc_kind kind, const char *table)
{
    culvi_ipc_fields(type, answer, kind, tell, (void *)(uintptr_t)table);
}

#define VALUE(table, name) printf("value\t%s\t%s\t%ld\n", table, #name, (long)(name))

/* Both pages are of C11's atomics, whose size is their number's. */
#define WORD(table, type, member)                                                                  \
    printf("word\t%s\t%s\t%zu\t%zu\t%zu\n", table, #member, offsetof(type, member),                \
           sizeof((type *)0)->member, sizeof(type))
#define RING(member)     WORD("ring page", culvi_ipc_ring_page, member)
#define CONSUMER(member) WORD("consumer page", culvi_ipc_consumer_page, member)

static void pages(void)
{
    RING(magic);
    RING(slots);
    RING(state);
    RING(producer_waits);
    RING(head);
    RING(frames);
    RING(apart);
    RING(written);
    CONSUMER(ready);
    CONSUMER(apart);
    CONSUMER(done);
    CONSUMER(apart_too);
    CONSUMER(next);
    CONSUMER(hold);
    CONSUMER(waits);
    CONSUMER(state);
    CONSUMER(last);
    CONSUMER(first);
    CONSUMER(dropped);
    CONSUMER(reserved);
}

static void values(void)
{
    VALUE("constants", CULVI_IPC_VERSION);
    VALUE("constants", CULVI_IPC_BYTES);
    VALUE("constants", CULVI_IPC_FDS);
    VALUE("constants", CULVI_IPC_PAGE);
    VALUE("constants", CULVI_IPC_PAGE_MAGIC);
    VALUE("constants", CULVI_IPC_OFFERS);
    VALUE("constants", CULV_IPC_MAX_CLIENTS);
    VALUE("constants", CULV_IPC_MAX_CONSUMERS);
    VALUE("constants", CULV_RING_MAX_DEPTH);
    VALUE("types", CULVI_IPC_HELLO);
    VALUE("types", CULVI_IPC_LIST);
    VALUE("types", CULVI_IPC_RECEIVE);
    VALUE("types", CULVI_IPC_CHUNKS);
    VALUE("types", CULVI_IPC_JOIN);
    VALUE("types", CULVI_IPC_LEAVE);
    VALUE("types", CULVI_IPC_WAKE);
    VALUE("types", CULVI_IPC_ERROR);
    VALUE("kinds", CULV_IPC_VMM);
    VALUE("kinds", CULV_IPC_VECTOR);
    VALUE("kinds", CULV_IPC_BUFFER);
    VALUE("kinds", CULV_IPC_IMAGE);
    VALUE("kinds", CULV_IPC_SEMAPHORE);
    VALUE("kinds", CULV_IPC_RING);
    VALUE("kinds", CULV_IPC_CUDA_MEMORY);
    VALUE("kinds", CULV_IPC_EVENT);
    VALUE("kinds", CULV_IPC_POOL);
    VALUE("kinds", CULV_IPC_POOL_MEMORY);
    VALUE("kinds", CULV_IPC_VMM_FABRIC);
    VALUE("kinds", CULV_IPC_POOL_FABRIC);
    VALUE("enums", CULV_RING_FIFO);
    VALUE("enums", CULV_RING_MAILBOX);
    VALUE("enums", CULVI_IPC_RUNS);
    VALUE("enums", CULVI_IPC_STOPPED);
    VALUE("enums", CULVI_IPC_JOINS);
    VALUE("enums", CULVI_IPC_LIVES);
    VALUE("enums", CULVI_IPC_LEFT);
    VALUE("enums", CULV_HANDLE_NONE);
    VALUE("enums", CULV_HANDLE_OPAQUE_FD);
    VALUE("enums", CULV_HANDLE_DMA_BUF_FD);
    VALUE("results", CULV_ERROR_INVALID);
    VALUE("results", CULV_ERROR_UNSUPPORTED);
    VALUE("results", CULV_ERROR_OUT_OF_MEMORY);
    VALUE("results", CULV_ERROR_BUSY);
    VALUE("results", CULV_ERROR_TIMEOUT);
    VALUE("results", CULV_ERROR_ASYNC);
    VALUE("results", CULV_ERROR_DRIVER);
    VALUE("reasons", CULV_REASON_VALUE);
    VALUE("reasons", CULV_REASON_IPC_NAME);
    VALUE("reasons", CULV_REASON_IPC_REFUSED);
    VALUE("reasons", CULV_REASON_OS);
}

int main(void)
{
    message(CULVI_IPC_TYPES, false, CULV_IPC_NONE, "header");
    message(CULVI_IPC_HELLO, false, CULV_IPC_NONE, "HELLO");
    message(CULVI_IPC_LIST, false, CULV_IPC_NONE, "LIST question");
    message(CULVI_IPC_LIST, true, CULV_IPC_NONE, "LIST answer");
    message(CULVI_IPC_RECEIVE, false, CULV_IPC_NONE, "RECEIVE question");
    message(CULVI_IPC_RECEIVE, true, CULV_IPC_NONE, "RECEIVE answer");
    message(CULVI_IPC_RECEIVE, true, CULV_IPC_IMAGE, "RECEIVE answer IMAGE");
    message(CULVI_IPC_RECEIVE, true, CULV_IPC_SEMAPHORE, "RECEIVE answer SEMAPHORE");
    message(CULVI_IPC_RECEIVE, true, CULV_IPC_RING, "RECEIVE answer RING");
    message(CULVI_IPC_CHUNKS, false, CULV_IPC_NONE, "CHUNKS question");
    message(CULVI_IPC_CHUNKS, true, CULV_IPC_NONE, "CHUNKS answer");
    message(CULVI_IPC_JOIN, false, CULV_IPC_NONE, "JOIN question");
    message(CULVI_IPC_JOIN, true, CULV_IPC_NONE, "JOIN answer");
    message(CULVI_IPC_LEAVE, false, CULV_IPC_NONE, "LEAVE");
    message(CULVI_IPC_ERROR, true, CULV_IPC_NONE, "ERROR");
    pages();
    values();
    return 0;
}
