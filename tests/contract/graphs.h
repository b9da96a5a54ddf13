/* SPDX-License-Identifier: MIT */
/* What the contract suite's files about graphs and captures share. */
#ifndef CULVERT_TESTS_GRAPHS_H_
#define CULVERT_TESTS_GRAPHS_H_

#include "contract.h"

enum { GRAPH_WORDS = 4096, GRAPH_SIZE = GRAPH_WORDS * 4 };

/* A pair with the suite's kernels, a buffer of device memory, a second stream and two timelines. */
typedef struct graph_bench {
    pair p;
    CUfunction write, add; /* pattern_write, pattern_add */
    CUdeviceptr words;     /* GRAPH_WORDS of them, zero */
    CUstream other;
    shared_timeline in, out; /* both 0 */
} graph_bench;

/* Skips where the driver has no graphs. */
void graph_bench_open(graph_bench *b);
void graph_bench_close(graph_bench *b);
#define GRAPH_CASE(...)                                                                            \
    TEST_ON(graph_bench, b, graph_bench_open(b), graph_bench_close(b), __VA_ARGS__)

/* Launches pattern_write or pattern_add over b->words. */
CUresult graph_kernel(const graph_bench *b, CUfunction kernel, unsigned number, CUstream stream);
/* Requires what pattern_write(seed), and then additions of `added` in all, leave in b->words. */
void graph_require_words(const graph_bench *b, unsigned seed, unsigned added);

/* The same, with the words that are wrong counted, and answered. */
void graph_answer_words(const graph_bench *b, const char *key, unsigned seed, unsigned added);

/* A graph and an executable one, until the case ends. */
void graph_begin(const graph_bench *b, CUstream stream);
CUgraph graph_end(const graph_bench *b, CUstream stream);
CUgraphExec graph_instantiate(const graph_bench *b, CUgraph graph);
/* The only node of this type. */
CUgraphNode graph_node(const graph_bench *b, CUgraph graph, CUgraphNodeType type);
size_t graph_count(const graph_bench *b, CUgraph graph);

/* For later launches. */
CUresult graph_set_signal(const graph_bench *b, CUgraphExec exec, CUgraphNode node,
                          CUexternalSemaphore semaphore, uint64_t value);
CUresult graph_set_wait(const graph_bench *b, CUgraphExec exec, CUgraphNode node,
                        CUexternalSemaphore semaphore, uint64_t value);
/* A node's kernel gets another last argument. */
void graph_set_kernel(const graph_bench *b, CUgraphExec exec, CUgraphNode node, unsigned number);

/* Work in the stream that the host, or a queue, has not let go on yet. */
void graph_require_pending(const graph_bench *b, CUstream stream);
/* An error, whose number the documentation leaves open. */
void graph_refused(const char *what, CUresult actual);

#endif
