/* SPDX-License-Identifier: MIT */
/* culvert-check before the CUDA driver. A program that links libcuda.so.1 gets these functions,
 * because this library is loaded first; one that looks them up gets them from dlsym() and
 * cuGetProcAddress(). Each tells the model what is asked, and then asks the driver. */
#include "cuda_inside.h"
#include "tree.h"

#include <dlfcn.h>

const row cuda_rows[NUM_ROWS] = {
#define ROW(base, version, symbol) {#base, version, false, #symbol, (void (*)(void))symbol},
#define ROW2(base, version, symbol, suffix)                                                        \
    {#base, version, false, #symbol, (void (*)(void))symbol},                                      \
        {#base, version, true, #symbol "_" #suffix, (void (*)(void))symbol##_##suffix},
    CHECK_CUDA_PLAIN(ROW) CHECK_CUDA_PER_THREAD(ROW2)
#undef ROW
#undef ROW2
};

/* ---- which driver ---- */

static _Atomic(void *) reals[NUM_ROWS];
static _Atomic(void *) driver; /* its module, as dladdr() knows it */
static _Atomic(void *) library;

static void *module_of(const void *address)
{
    Dl_info info;
    return dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

static void *open_library(void)
{
    static const char *const names[] = {"libcuda.so.1", "libculvert-soft.so.0"};
    void *found = library;
    for (size_t i = 0; found == NULL && i < 2; i++)
        found = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    library = found;
    return found;
}

/* A function of the driver that is not watched, or the driver's own of one that is. */
void *cuda_ask_driver(const char *symbol)
{
    check_inside++;
    void *found = check_find_symbol(RTLD_NEXT, symbol);
    if (found == NULL && open_library() != NULL) found = check_find_symbol(library, symbol);
    check_inside--;
    return found;
}

void *cuda_real_of(int i)
{
    void *found = reals[i];
    if (found == NULL) {
        check_tree_saw(TREE_CUDA);
        reals[i] = found = cuda_ask_driver(cuda_rows[i].symbol);
    }
    return found;
}

static void *wrapper_of(int i)
{
    void *wrapper;
    memcpy(&wrapper, &cuda_rows[i].wrapper, sizeof wrapper);
    return wrapper;
}

/* What stands for `found` of the row. A second driver in the process is not watched. */
static void *stand_in(int i, void *found)
{
    void *wrapper = wrapper_of(i);
    if (found == NULL || found == wrapper) return found;
    if (driver == NULL) check_tree_saw(TREE_CUDA);
    /* A library in front of a driver has the lookup alone, as the twin's libcuda.so.1 does: so a
     * lookup does not tell which module is the driver, and what it finds does. A driver has more
     * than one address for it. */
    const bool lookup = strcmp(cuda_rows[i].base, "cuGetProcAddress") == 0;
    void *module = module_of(found), *none = NULL, *nothing = NULL;
    bool second = !lookup && module != driver &&
                  !__atomic_compare_exchange_n((void **)&driver, &none, module, 0, __ATOMIC_SEQ_CST,
                                               __ATOMIC_SEQ_CST) &&
                  none != module;
    if (!second && !__atomic_compare_exchange_n((void **)&reals[i], &nothing, found, 0,
                                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        second = lookup && module != driver && module != module_of(nothing);
    if (second) check_note("A second CUDA driver is in the process; its calls were not seen");
    return second ? found : wrapper;
}

void *check_cuda_found(const char *name, void *found)
{
    for (int i = 0; i < NUM_ROWS; i++)
        if (strcmp(cuda_rows[i].symbol, name) == 0) return stand_in(i, found);
    return found;
}

/* The parent's imports and streams are not a child's. */
void check_cuda_forget(void)
{
    cuda_forget_memory();
    cuda_forget_streams();
    cuda_forget_graphs();
}

static void answer(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
    int best = -1;
    if (symbol == NULL || pfn == NULL || *pfn == NULL) return;
    /* Since CUDA 12 cuda.h makes another function of this name. Driver 580 gives the second form
     * for every version (measured on an H100). Where it is none of the three it is not watched, and
     * graphs are not followed. */
    const bool unsure = strcmp(symbol, "cuGraphInstantiate") == 0 && version >= 12000;
    static const int forms[] = {ROW_cuGraphInstantiateWithFlags, ROW_cuGraphInstantiate_v2,
                                ROW_cuGraphInstantiate};
    for (size_t i = 0; unsure && i < sizeof forms / sizeof *forms; i++)
        if (best < 0 && cuda_real_of(forms[i]) == *pfn) best = forms[i];
    for (int i = 0; !unsure && i < NUM_ROWS; i++) {
        if (strcmp(cuda_rows[i].base, symbol) != 0 || cuda_rows[i].version > version) continue;
        if (cuda_rows[i].per_thread && !per_thread) continue;
        if (best < 0 || cuda_rows[i].version > cuda_rows[best].version || cuda_rows[i].per_thread)
            best = i;
    }
    if (best >= 0) *pfn = stand_in(best, *pfn);
}

CHECK_EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                                                  cuuint64_t flags,
                                                  CUdriverProcAddressQueryResult *status)
{
    REAL(cuGetProcAddress_v2,
         (const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *),
         (symbol, pfn, version, flags, status))
    check_inside++;
    const CUresult result = real(symbol, pfn, version, flags, status);
    if (result == CUDA_SUCCESS) answer(symbol, pfn, version, flags);
    check_inside--;
    return result;
}

CHECK_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **pfn, int version,
                                               cuuint64_t flags)
{
    REAL(cuGetProcAddress, (const char *, void **, int, cuuint64_t), (symbol, pfn, version, flags))
    check_inside++;
    const CUresult result = real(symbol, pfn, version, flags);
    if (result == CUDA_SUCCESS) answer(symbol, pfn, version, flags);
    check_inside--;
    return result;
}
