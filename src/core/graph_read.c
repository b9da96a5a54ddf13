/* SPDX-License-Identifier: MIT */
/* CUDA graphs, read for queues that are not CUDA's. */
#include "core/graph_read.h"

#include <stdio.h>
#include <stdlib.h>

/* The index is the number of the kind, CUgraphNodeType. */
static const char *const kinds[] = {"a kernel",
                                    "a copy",
                                    "a memset",
                                    "a function of the host",
                                    "a graph in the graph",
                                    "an empty node",
                                    "a wait for an event",
                                    "a record of an event",
                                    "a signal of an external semaphore",
                                    "a wait for an external semaphore",
                                    "an allocation of memory",
                                    "a release of memory",
                                    "a batch of memory operations",
                                    "a conditional node"};

/* What is only needed while a graph is read. */
typedef struct place {
    CUgraphNode handle;
    size_t index;
} place;
typedef struct edge {
    size_t from, to;
} edge;
typedef struct scratch {
    size_t num_nodes, num_edges;
    CUgraphNode *nodes, *from, *to;
    CUgraphNodeType *types;
    place *places; /* by handle */
    edge *edges;   /* by `from` */
    struct {
        size_t first; /* of its edges, in `edges` */
        size_t level, waiting;
        size_t ready; /* no node's own: a list of those that are */
    } * marks;        /* one more than nodes */
} scratch;

/* Zeroed, and not NULL for none. */
static void *alloc_many(size_t count, size_t size)
{
    return count >= SIZE_MAX / size ? NULL : culvi_alloc((count + 1) * size);
}

static culv_result list_nodes(culv_device *device, CUgraph graph, const char *label, scratch *s)
{
    CULVI_TRY(culvi_graph_list(device, label, graph, &s->nodes, &s->num_nodes));
    s->types = alloc_many(s->num_nodes, sizeof *s->types);
    if (s->types == NULL) return culvi_fail_host_memory(&device->voice, label);
    for (size_t i = 0; i < s->num_nodes; i++)
        CULVI_CU_TRY(device, label, cuGraphNodeGetType, (s->nodes[i], &s->types[i]),
                     CULV_REASON_DRIVER_REFUSED, CULVI_GRAPH_UNLISTED);
    return CULV_OK;
}

static culv_result list_edges(culv_device *device, CUgraph graph, const char *label, scratch *s)
{
    CUresult r = CULVI_CU(device, cuGraphGetEdges, (graph, NULL, NULL, &s->num_edges));
    if (r == CUDA_SUCCESS) {
        s->from = alloc_many(s->num_edges, sizeof *s->from);
        s->to = alloc_many(s->num_edges, sizeof *s->to);
        s->edges = alloc_many(s->num_edges, sizeof *s->edges);
        if (s->from == NULL || s->to == NULL || s->edges == NULL)
            return culvi_fail_host_memory(&device->voice, label);
        if (s->num_edges > 0)
            r = CULVI_CU(device, cuGraphGetEdges, (graph, s->from, s->to, &s->num_edges));
    }
    if (r == CUDA_SUCCESS) return CULV_OK;
    if (r == CUDA_ERROR_LOSSY_QUERY)
        return culvi_fail_native(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH, CULV_NATIVE_CUDA,
            (int64_t)r, "cuGraphGetEdges",
            "an edge of the graph has data: a kernel may start before the one before it has ended (programmatic dependent launch), and barriers cannot express that; launch without that attribute");
    return culvi_fail_cuda(device, label, r, "cuGraphGetEdges", CULV_REASON_DRIVER_REFUSED,
                           "the graph's edges could not be listed");
}

static culv_result check_kinds(const culv_device *device, const char *label, const scratch *s)
{
    for (size_t i = 0; i < s->num_nodes; i++) {
        const size_t kind = (size_t)s->types[i];
        if (kind <= CU_GRAPH_NODE_TYPE_MEMSET || kind == CU_GRAPH_NODE_TYPE_EMPTY) continue;
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH,
            "node %zu of the graph's %zu is %s, which a queue of a graphics API cannot do; kernels, memsets and copies within shared memory can be recorded, and the rest belongs on a stream, before or after",
            i, s->num_nodes,
            kind < sizeof kinds / sizeof kinds[0] ? kinds[kind]
                                                  : "of a kind that Culvert does not know");
    }
    return CULV_OK;
}

/* Order --------------------------------------------------------------------------------------- */

static int compare(uintptr_t a, uintptr_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_places(const void *a, const void *b)
{
    return compare((uintptr_t)((const place *)a)->handle, (uintptr_t)((const place *)b)->handle);
}

static int compare_edges(const void *a, const void *b)
{
    return compare(((const edge *)a)->from, ((const edge *)b)->from);
}

static int compare_nodes(const void *a, const void *b)
{
    const culvi_graph_node *one = a, *other = b;
    const int order = compare(one->level, other->level);
    return order != 0 ? order : compare(one->index, other->index);
}

static size_t index_of(const scratch *s, CUgraphNode node)
{
    const place key = {node, 0};
    const place *found = bsearch(&key, s->places, s->num_nodes, sizeof key, compare_places);
    return found != NULL ? found->index : SIZE_MAX;
}

/* Fills `edges` and `first`. False: an edge has a node that is not listed. */
static bool sort_edges(scratch *s)
{
    for (size_t i = 0; i < s->num_nodes; i++)
        s->places[i] = (place){s->nodes[i], i};
    qsort(s->places, s->num_nodes, sizeof *s->places, compare_places);
    for (size_t i = 0; i < s->num_edges; i++) {
        s->edges[i] = (edge){index_of(s, s->from[i]), index_of(s, s->to[i])};
        if (s->edges[i].from == SIZE_MAX || s->edges[i].to == SIZE_MAX) return false;
        s->marks[s->edges[i].to].waiting++;
    }
    qsort(s->edges, s->num_edges, sizeof *s->edges, compare_edges);
    size_t at = 0;
    for (size_t i = 0; i <= s->num_nodes; i++) {
        while (at < s->num_edges && s->edges[at].from < i)
            at++;
        s->marks[i].first = at;
    }
    return true;
}

/* The lowest level of each node that its edges allow. An empty node takes none of its own. */
static bool find_levels(scratch *s)
{
    size_t begun = 0, found = 0;
    for (size_t i = 0; i < s->num_nodes; i++)
        if (s->marks[i].waiting == 0) s->marks[found++].ready = i;
    for (; begun < found; begun++) {
        const size_t from = s->marks[begun].ready;
        const size_t after = s->marks[from].level + (s->types[from] != CU_GRAPH_NODE_TYPE_EMPTY);
        for (size_t i = s->marks[from].first; i < s->marks[from + 1].first; i++) {
            const size_t to = s->edges[i].to;
            if (s->marks[to].level < after) s->marks[to].level = after;
            if (--s->marks[to].waiting == 0) s->marks[found++].ready = to;
        }
    }
    return found == s->num_nodes;
}

static culv_result order(culv_device *device, const char *label, scratch *s)
{
    s->places = alloc_many(s->num_nodes, sizeof *s->places);
    s->marks = alloc_many(s->num_nodes + 1, sizeof *s->marks);
    if (s->places == NULL || s->marks == NULL) return culvi_fail_host_memory(&device->voice, label);
    if (sort_edges(s) && find_levels(s)) return CULV_OK;
    return culvi_fail(&device->voice, label, CULV_ERROR_INVALID, CULV_REASON_GRAPH,
                      "the graph has a cycle: a node of it waits for itself");
}

/* Nodes --------------------------------------------------------------------------------------- */

static culv_result fail_params(const culv_device *device, const char *label,
                               const culvi_graph_node *node, CUresult r, const char *call)
{
    return culvi_fail_cuda(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "node %zu of the graph, %s, could not be read", node->index,
                           kinds[node->type]);
}

/* What a launch may have besides a grid and a block, and a queue of a graphics API cannot do. Other
 * attributes of a node change no result there: priority, cache, carveout, and the domain in which
 * fences wait. That a kernel may start early is data of an edge (list_edges()). */
static const struct {
    CUlaunchAttributeID id;
    const char *what;
} attributes[] = {
    {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, "is cooperative"},
    {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, "has clusters of blocks"},
    {CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, "prefers clusters of blocks"},
    {CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
     "can be changed by kernels (deviceUpdatable)"},
};

static bool is_set(CUlaunchAttributeID id, const CUlaunchAttributeValue *v)
{
    switch (id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return v->cooperative != 0;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        return v->clusterDim.x > 1 || v->clusterDim.y > 1 || v->clusterDim.z > 1;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        return v->preferredClusterDim.x > 1 || v->preferredClusterDim.y > 1 ||
               v->preferredClusterDim.z > 1;
    default: return v->deviceUpdatableKernelNode.deviceUpdatable != 0;
    }
}

/* A driver that does not know an attribute, and one that has it for other launches alone, answer
 * INVALID_VALUE: it is not set. */
static culv_result check_attributes(culv_device *device, const char *label,
                                    const culvi_graph_node *node)
{
    if (device->cuda->cuGraphKernelNodeGetAttribute == NULL) return CULV_OK;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        CUlaunchAttributeValue value;
        memset(&value, 0, sizeof value);
        CUresult r = CULVI_CU(device, cuGraphKernelNodeGetAttribute,
                              (node->handle, attributes[i].id, &value));
        if (r == CUDA_ERROR_INVALID_VALUE) /* or a failure that passes */
            r = CULVI_CU(device, cuGraphKernelNodeGetAttribute,
                         (node->handle, attributes[i].id, &value));
        if (r == CUDA_ERROR_INVALID_VALUE) continue;
        if (r != CUDA_SUCCESS)
            return fail_params(device, label, node, r, "cuGraphKernelNodeGetAttribute");
        if (!is_set(attributes[i].id, &value)) continue;
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_GRAPH,
            "node %zu of the graph launches the kernel '%s', and that launch %s, which a queue of a graphics API cannot do; launch it on a stream",
            node->index, node->name, attributes[i].what);
    }
    return CULV_OK;
}

/* The node's own function, which may be of another module than the kernel that is recorded. */
static culv_result check_clusters(culv_device *device, const char *label,
                                  const culvi_graph_node *node)
{
    culvi_kernel_clusters clusters;
    char where[64];
    CUresult r = culvi_kernel_read_clusters(device, node->params.kernel.func, &clusters);
    if (r != CUDA_SUCCESS) return fail_params(device, label, node, r, "cuFuncGetAttribute");
    if (!clusters.needed) return CULV_OK;
    snprintf(where, sizeof where, "node %zu of the graph: ", node->index);
    return culvi_kernel_refuse_clusters(&device->voice, label, where, node->name, &clusters);
}

static culv_result read_kernel(culv_device *device, const char *label, culvi_graph_node *node)
{
    CUDA_KERNEL_NODE_PARAMS *params = &node->params.kernel;
    const culvi_cuda *cuda = device->cuda;
    const char *call = "cuGraphKernelNodeGetParams";
    CUresult r = CULVI_CU(device, cuGraphKernelNodeGetParams, (node->handle, params));
    if (r == CUDA_SUCCESS && params->func == NULL && params->kern != NULL &&
        cuda->cuKernelGetFunction != NULL) {
        r = CULVI_CU_AS(call, device, cuKernelGetFunction, (&params->func, params->kern));
    }
    node->name = "";
    if (r == CUDA_SUCCESS && cuda->cuFuncGetName != NULL) {
        r = CULVI_CU_AS(call, device, cuFuncGetName, (&node->name, params->func));
    }
    if (r != CUDA_SUCCESS) return fail_params(device, label, node, r, call);
    if (node->name == NULL) node->name = "";
    CULVI_TRY(check_clusters(device, label, node));
    return check_attributes(device, label, node);
}

static culv_result read_node(culv_device *device, const char *label, culvi_graph_node *node)
{
    const char *call = "cuGraphMemsetNodeGetParams";
    CUresult r = CUDA_SUCCESS;
    if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) return read_kernel(device, label, node);
    if (node->type == CU_GRAPH_NODE_TYPE_MEMSET) {
        r = CULVI_CU(device, cuGraphMemsetNodeGetParams, (node->handle, &node->params.memset));
    } else {
        r = CULVI_CU_AS(call, device, cuGraphMemcpyNodeGetParams,
                        (node->handle, &node->params.memcpy));
    }
    return r == CUDA_SUCCESS ? CULV_OK : fail_params(device, label, node, r, call);
}

static culv_result read_nodes(culv_device *device, const char *label, const scratch *s,
                              culvi_graph_work *out)
{
    out->nodes = alloc_many(s->num_nodes, sizeof *out->nodes);
    if (out->nodes == NULL) return culvi_fail_host_memory(&device->voice, label);
    out->total = s->num_nodes;
    for (size_t i = 0; i < s->num_nodes; i++) {
        if (s->types[i] == CU_GRAPH_NODE_TYPE_EMPTY) continue;
        culvi_graph_node *node = &out->nodes[out->count++];
        node->handle = s->nodes[i];
        node->type = s->types[i];
        node->index = i;
        node->level = s->marks[i].level;
        CULVI_TRY(read_node(device, label, node));
    }
    qsort(out->nodes, out->count, sizeof *out->nodes, compare_nodes);
    return CULV_OK;
}

culv_result culvi_graph_read(culv_device *device, CUgraph graph, const char *label,
                             culvi_graph_work *out)
{
    scratch s;
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    culv_result result = list_nodes(device, graph, label, &s);
    if (result == CULV_OK) result = check_kinds(device, label, &s);
    if (result == CULV_OK) result = list_edges(device, graph, label, &s);
    if (result == CULV_OK) result = order(device, label, &s);
    if (result == CULV_OK) result = read_nodes(device, label, &s, out);
    void *const all[] = {s.nodes, s.from, s.to, s.types, s.places, s.edges, s.marks};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        culvi_free(all[i]);
    return result;
}

/* Arguments ----------------------------------------------------------------------------------- */

static culv_result fail_layout(const culvi_graph_node *node, const culv_kernel *kernel,
                               const char *label)
{
    return culvi_fail(
        &kernel->owner->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_KERNEL,
        "node %zu of the graph launches a kernel '%s' that takes other arguments than the one of that name in '%s'; load the same code",
        node->index, kernel->name, kernel->owner->label);
}

/* The node's function is of another module: its kernel must take the same. */
static culv_result compare_layouts(const culvi_graph_node *node, const culv_kernel *kernel,
                                   const char *label)
{
    culv_device *device = kernel->owner->device;
    CUfunction function = node->params.kernel.func;
    for (uint32_t i = 0; i < kernel->num_params; i++) {
        size_t offset = 0, size = 0;
        CUresult r = CULVI_CU(device, cuFuncGetParamInfo, (function, i, &offset, &size));
        if (r == CUDA_ERROR_INVALID_VALUE) return fail_layout(node, kernel, label);
        if (r != CUDA_SUCCESS) return fail_params(device, label, node, r, "cuFuncGetParamInfo");
        if (offset != kernel->offsets[i] || size != kernel->sizes[i])
            return fail_layout(node, kernel, label);
    }
    if (kernel->num_params == CULV_KERNEL_ARGS_MAX) return CULV_OK;
    size_t offset = 0, size = 0;
    CUresult r =
        CULVI_CU(device, cuFuncGetParamInfo, (function, kernel->num_params, &offset, &size));
    return r == CUDA_SUCCESS ? fail_layout(node, kernel, label) : CULV_OK;
}

culv_result culvi_graph_kernel_params(const culvi_graph_node *node, const culv_kernel *kernel,
                                      const char *label, void **params)
{
    const culvi_voice *voice = &kernel->owner->device->voice;
    const CUDA_KERNEL_NODE_PARAMS *from = &node->params.kernel;
    const char *block = NULL;
    size_t size = 0;
    CULVI_UNSUPPORTED_IF(
        !kernel->params_known, voice, label, CULV_REASON_KERNEL,
        "the driver does not tell the parameters of the kernel '%s' (cuFuncGetParamInfo, CUDA 12.4), so a graph's launch of it cannot be recorded",
        kernel->name);
    if (from->func != kernel->function) CULVI_TRY(compare_layouts(node, kernel, label));
    for (void *const *extra = from->extra;
         from->kernelParams == NULL && extra != NULL && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) block = extra[1];
        if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *(const size_t *)extra[1];
    }
    if (kernel->num_params > 0 && from->kernelParams == NULL &&
        (block == NULL || size < kernel->params_size))
        return culvi_fail(
            voice, label, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED,
            "the driver does not tell the arguments of node %zu of the graph, a launch of the kernel '%s'",
            node->index, kernel->name);
    for (uint32_t i = 0; i < kernel->num_params; i++) {
        const void *const value =
            from->kernelParams != NULL ? from->kernelParams[i] : block + kernel->offsets[i];
        memcpy(&params[i], &value, sizeof value); /* it is only read */
    }
    return CULV_OK;
}

culv_result culvi_graph_is_pointer(culv_device *device, const char *label, uint64_t number,
                                   bool *out)
{
    unsigned type = 0; /* stays 0 for what is no address */
    CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    void *value = &type;
    CULVI_CU_TRY(device, label, cuPointerGetAttributes,
                 (1, &attribute, &value, (CUdeviceptr)number), CULV_REASON_DRIVER_REFUSED,
                 "the driver did not tell whether 0x%llx is an address",
                 (unsigned long long)number);
    *out = type != 0;
    return CULV_OK;
}
