// SPDX-License-Identifier: MIT
// CUDA's atomic functions and integer intrinsics for the software twin. Part of culvert_kernel.h.
//
// Blocks run on several threads of the host, so atomics are real, on global and on shared memory.
#ifndef CULVERT_ATOMIC_H_
#define CULVERT_ATOMIC_H_

namespace culv_soft {
namespace {

template <typename T> struct is_itself {
    using type = T;
};
// The value converts to the type that the address has, as it does with CUDA's overloads.
template <typename T> using plain = typename is_itself<T>::type;

template <typename T, typename F> inline T update(T *address, F next)
{
    T before, after;
    __atomic_load(address, &before, __ATOMIC_RELAXED);
    do {
        after = next(before);
    } while (!__atomic_compare_exchange(address, &before, &after, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return before;
}

template <typename T>
constexpr bool is_word =
    std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;

} // namespace
} // namespace culv_soft

template <typename T> static inline T atomicAdd(T *address, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T> || std::is_floating_point_v<T>, "as CUDA's atomicAdd");
    if constexpr (std::is_floating_point_v<T>)
        return culv_soft::update(address, [=](T old) { return old + value; });
    else
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicSub(T *address, culv_soft::plain<T> value)
{
    static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned>, "as CUDA's atomicSub");
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicExch(T *address, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T> || std::is_same_v<T, float>, "as CUDA's atomicExch");
    T before;
    __atomic_exchange(address, &value, &before, __ATOMIC_RELAXED);
    return before;
}

template <typename T> static inline T atomicMin(T *address, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T> || std::is_same_v<T, long long>, "as CUDA's atomicMin");
    return culv_soft::update(address, [=](T old) { return value < old ? value : old; });
}

template <typename T> static inline T atomicMax(T *address, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T> || std::is_same_v<T, long long>, "as CUDA's atomicMax");
    return culv_soft::update(address, [=](T old) { return old < value ? value : old; });
}

static inline unsigned atomicInc(unsigned *address, unsigned value)
{
    return culv_soft::update(address, [=](unsigned old) { return old >= value ? 0u : old + 1u; });
}

static inline unsigned atomicDec(unsigned *address, unsigned value)
{
    return culv_soft::update(
        address, [=](unsigned old) { return old == 0 || old > value ? value : old - 1u; });
}

template <typename T> static inline T atomicAnd(T *address, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T>, "as CUDA's atomicAnd");
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicOr(T *address, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T>, "as CUDA's atomicOr");
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}

template <typename T> static inline T atomicXor(T *address, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T>, "as CUDA's atomicXor");
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}

template <typename T>
static inline T atomicCAS(T *address, culv_soft::plain<T> expected, culv_soft::plain<T> value)
{
    static_assert(culv_soft::is_word<T> || std::is_same_v<T, unsigned short>,
                  "as CUDA's atomicCAS");
    __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
    return expected;
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}

static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

static inline int __clzll(long long x)
{
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}

static inline unsigned __brev(unsigned x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

static inline unsigned __umulhi(unsigned a, unsigned b)
{
    return (unsigned)((unsigned long long)a * b >> 32);
}

static inline int __mulhi(int a, int b)
{
    return (int)((long long)a * b >> 32);
}

static inline int __float_as_int(float x)
{
    int bits;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static inline unsigned __float_as_uint(float x)
{
    return (unsigned)__float_as_int(x);
}

static inline float __int_as_float(int bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

static inline float __uint_as_float(unsigned bits)
{
    return __int_as_float((int)bits);
}

#endif
