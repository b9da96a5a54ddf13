/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: the device, descriptors whose ends are watched, and what must hold
 * after each call and each input, whatever the input was. A target is a file with
 *
 *   void fuzz_target_open(void);                     once
 *   void fuzz_target_run(fuzz_reader *r);            each input */
#ifndef CULVERT_TESTS_FUZZ_FUZZ_H_
#define CULVERT_TESTS_FUZZ_FUZZ_H_

#include <volk.h>

#include <culvert/culvert.h>
#include <culvert/vulkan.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of a fuzzer's input as values. An input that has run out reads as zeros, and zero always
 * means the usual value: the empty input is a plain, correct use, and each byte may spoil it
 * somewhere. */

typedef struct fuzz_reader {
    const uint8_t *data;
    size_t left;
} fuzz_reader;

static inline uint64_t fuzz_bytes(fuzz_reader *r, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count && r->left > 0; i++, r->data++, r->left--)
        value |= (uint64_t)*r->data << (8 * i);
    return value;
}

static inline uint8_t fuzz_u8(fuzz_reader *r)
{
    return (uint8_t)fuzz_bytes(r, 1);
}

static inline uint32_t fuzz_u32(fuzz_reader *r)
{
    return (uint32_t)fuzz_bytes(r, 4);
}

static inline uint64_t fuzz_u64(fuzz_reader *r)
{
    return fuzz_bytes(r, 8);
}

/* Below count, which is at most 256. */
static inline uint32_t fuzz_pick(fuzz_reader *r, uint32_t count)
{
    return fuzz_u8(r) % count;
}

/* True for one byte in `one_in`, never for zero. */
static inline bool fuzz_rarely(fuzz_reader *r, uint32_t one_in)
{
    return fuzz_u8(r) % one_in == one_in - 1;
}

static inline bool fuzz_flag(fuzz_reader *r)
{
    return (fuzz_u8(r) & 1) != 0;
}

/* The usual value for half of all bytes; else one near it, a border, a power of two, or
 * anything. */
static inline uint64_t fuzz_value(fuzz_reader *r, uint64_t usual)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return usual;
    switch (how & 15) {
    case 0: return 0;
    case 1: return 1;
    case 2: return usual - 1;
    case 3: return usual + 1;
    case 4: return usual * 2;
    case 5: return usual / 2;
    case 6: return UINT64_MAX;
    case 7: return UINT32_MAX;
    case 8: return UINT64_C(1) << (fuzz_u8(r) & 63);
    case 9: return (UINT64_C(1) << (fuzz_u8(r) & 63)) - 1;
    case 10: return UINT64_MAX - fuzz_u8(r);
    case 11:
    case 12: return fuzz_u8(r);
    case 13: return fuzz_bytes(r, 2);
    case 14: return fuzz_u32(r);
    default: return fuzz_u64(r);
    }
}

static inline uint32_t fuzz_value32(fuzz_reader *r, uint32_t usual)
{
    return (uint32_t)fuzz_value(r, usual);
}

/* An enum's value below count, or seldom something that is none. */
static inline uint32_t fuzz_enum(fuzz_reader *r, uint32_t count)
{
    uint8_t byte = fuzz_u8(r);
    return byte < 240 ? byte % count : fuzz_u32(r);
}

/* Any float: small whole numbers, fractions, and the odd ones (infinities, NaN, denormals). */
static inline float fuzz_float(fuzz_reader *r)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return (float)(how & 31);
    if (how < 192) return ((float)how - 160.0f) / 8.0f;
    uint32_t bits = fuzz_u32(r);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A bit set: one that is given, or any. */
static inline uint32_t fuzz_bits(fuzz_reader *r, uint32_t usual)
{
    uint8_t how = fuzz_u8(r);
    if (how < 128) return usual;
    if (how < 160) return usual | 1u << (how & 31);
    if (how < 192) return usual & ~(1u << (how & 31));
    if (how < 224) return 1u << (how & 31);
    return fuzz_u32(r);
}

void fuzz_target_open(void);
void fuzz_target_run(fuzz_reader *r);

/* libFuzzer's two functions; replay.c calls them as well. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What does not hold ends the process by abort(), which is how libFuzzer sees it. */
#define FUZZ_REQUIRE(condition, ...)                                                               \
    ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition, __VA_ARGS__))
_Noreturn void fuzz_fail(const char *file, int line, const char *condition, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What a real driver does that the twin does not, and that is no fault of Culvert's: counted, the
 * first of its name told with the count when all inputs are done. Returns how many there were. */
unsigned fuzz_note(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Each note: its name, its count, its first text. */
void fuzz_each_note(void (*tell)(const char *name, unsigned count, const char *first));

/* The world ------------------------------------------------------------------------------------ */

typedef struct fuzz_world {
    culv_device *device;
    culv_device_caps caps;
    /* fuzz_open_vulkan() only: */
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice vk_device;
    VkCommandBuffer commands; /* begun, never submitted */
    culv_vk_device *vk;
    CUstream stream;
} fuzz_world;

extern fuzz_world fuzz;

/* The CUDA device alone; a Vulkan device of the machine, and the CUDA device that is it. */
void fuzz_open_cuda(void);
void fuzz_open_vulkan(void);
/* Takes what is alive now (objects, file descriptors, the drivers' own) for what must be alive
 * after each input. An input that leaves more fails; so does one that leaves less. */
void fuzz_set_baseline(void);
/* Vulkan allocations of more bytes than this fail, as they would on a machine that has no more. */
#define FUZZ_MOST_MEMORY (UINT64_C(64) << 20)

/* Calls ---------------------------------------------------------------------------------------- */

/* Evaluates one call of Culvert's that answers with a culv_result, and holds the answer against the
 * rules: an error is the thread's last error, has a reason, and a message that says something. */
#define FUZZ_CALL(call) fuzz_judge(#call, (fuzz_forget_error(), (call)))
void fuzz_forget_error(void);
culv_result fuzz_judge(const char *call, culv_result result);
/* The last error that fuzz_judge() saw. */
extern culv_error fuzz_error;
/* Tells each call and its answer: --trace. */
extern bool fuzz_trace;

/* From here to fuzz_disarm() an allocation, a CUDA call or a Vulkan call may fail, as the input
 * says. */
void fuzz_arm(fuzz_reader *r);
void fuzz_disarm(void);
/* Of FUZZ_CALL() alone. */
#define FUZZ_ARMED(r, call) (fuzz_arm(r), fuzz_disarmed(FUZZ_CALL(call)))
static inline culv_result fuzz_disarmed(culv_result result)
{
    fuzz_disarm();
    return result;
}
/* Whether anything failed because of fuzz_arm() in this input: then more errors are right than
 * without. */
bool fuzz_injected(void);

/* A pointer that no call returns. After an error an output is still this. */
#define FUZZ_POISON(type) ((type *)(uintptr_t)0x5a5a5a50u)

/* A struct with a struct_size, in memory that ends where that says it ends: AddressSanitizer sees
 * any step over. The size is the real one, or seldom another. Given back by fuzz_unbox(), in any
 * order. */
void *fuzz_box(fuzz_reader *r, const void *desc, size_t size);
/* The same for an output, and filled with a pattern, which fuzz_require_untouched() looks for. */
void *fuzz_box_out(fuzz_reader *r, size_t size);
void fuzz_require_untouched(const void *box);
/* Whether the box is of the real size, so that all fields may be looked at. */
bool fuzz_box_whole(const void *box);
void fuzz_unbox(void *box);

/* NULL, or a text that has everything that format strings and short buffers are afraid of. */
const char *fuzz_label(fuzz_reader *r);

/* A file such as Mesa's software drivers export for memory of so many bytes; its file descriptor is
 * the caller's. */
int fuzz_memory_file(uint64_t size);

/* A pNext chain and the arrays that structs point to; its memory lives until fuzz_chain_free().
 * Each piece is an allocation of its own size. */
typedef struct fuzz_chain {
    void *pieces[24];
    unsigned count;
} fuzz_chain;

void *fuzz_chain_alloc(fuzz_chain *chain, size_t size);
void fuzz_chain_free(fuzz_chain *chain);

/* What vkCreateBuffer and vkCreateImage are called with. */
void fuzz_buffer_info(fuzz_reader *r, fuzz_chain *chain, VkBufferCreateInfo *out);
/* 1 of what is no format. */
uint32_t fuzz_planes(VkFormat format);
void fuzz_image_info(fuzz_reader *r, fuzz_chain *chain, VkImageCreateInfo *out);
/* For messages: what the gate is asked about. The same memory each time. */
const char *fuzz_describe_image(const VkImageCreateInfo *info);
/* A format: of the list of culvert/format.h, or seldom none. */
VkFormat fuzz_format(fuzz_reader *r, VkFormat usual);
const void *fuzz_chain_find(const void *chain, VkStructureType type);

#endif
