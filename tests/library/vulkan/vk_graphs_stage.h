/* SPDX-License-Identifier: MIT */
/* What the suite of graphs in command buffers shares: two fields of words that both APIs have. */
#ifndef CULVERT_TESTS_VK_GRAPHS_STAGE_H_
#define CULVERT_TESTS_VK_GRAPHS_STAGE_H_

#include "vk_kernels_stage.h"

enum { GRAPH_WORDS = 20000, GRAPH_BYTES = GRAPH_WORDS * 4, GRAPH_BLOCK = 128 };

typedef struct vk_graph_scene {
    vk_kernels_stage s;
    culv_vk_space *space; /* NULL: two buffers, with two addresses each */
    culv_shared_buffer *buffers[2];
    CUdeviceptr a, b; /* GRAPH_WORDS words each */
    culv_vk_graph_memory memory[2];
    culv_vk_graph_desc desc; /* with the kernels and the memory */
    CUgraph graph;           /* the scene's, if one was made */
    uint32_t words[2][GRAPH_WORDS];
} vk_graph_scene;

vk_graph_scene *vk_graph_open(bool one_address);
void vk_graph_close(vk_graph_scene *g);
/* Both fields get a pattern; `words` are what they have. */
void vk_graph_fill(vk_graph_scene *g);
void vk_graph_read(vk_graph_scene *g);
/* Between them g->s.stream is captured into g->graph. */
void vk_graph_capture(vk_graph_scene *g);
void vk_graph_captured(vk_graph_scene *g);
/* Launches queue_add, or queue_mix where `addend` is 0, on `count` words. */
void vk_graph_add(vk_graph_scene *g, CUstream stream, CUdeviceptr words, unsigned count,
                  unsigned addend);
/* A kernel node of queue_add. One of 0 words looks at none. */
CUgraphNode vk_graph_add_node(vk_graph_scene *g, const CUgraphNode *before, size_t num_before,
                              CUdeviceptr words, unsigned count, unsigned addend);
/* By CUDA, and by Vulkan; both wait. */
void vk_graph_launch(vk_graph_scene *g);
void vk_graph_record(vk_graph_scene *g);
/* Both ways give the same words, which are not those that were filled in. */
void vk_graph_compare(vk_graph_scene *g);

#endif
