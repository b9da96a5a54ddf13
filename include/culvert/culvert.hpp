/* SPDX-License-Identifier: MIT */
/* Culvert for C++17: the main objects as move-only types that destroy themselves, and errors as
 * exceptions. Everything is inline, an object is as large as a pointer, and the structs are those
 * of the C headers, which have the rules of each call. docs/cpp.md has a whole program.
 *
 *   culvert::device device = culvert::device::open(0);
 *   culv_vector_desc desc = culv_vector_desc_init();
 *   desc.size = 1 << 20;
 *   culvert::vector vector = culvert::vector::create(device.get(), desc);
 *
 * Without exceptions (CULVERT_NO_EXCEPTIONS, which -fno-exceptions defines too) a call that makes
 * something returns a culvert::made<T>, and any other one its culv_result:
 *
 *   auto device = culvert::device::open(0);
 *   if (!device) return fail(culv_last_error_message());
 *   device->collect();
 *
 * For everything else make the C call on get(). culvert/vulkan.hpp has Vulkan's half. */
#ifndef CULV_CULVERT_HPP_
#define CULV_CULVERT_HPP_

#include "culvert.h"
#include "shared.h"

#include <type_traits>
#include <utility>

#if !defined(CULVERT_NO_EXCEPTIONS) && !defined(__cpp_exceptions)
#    define CULVERT_NO_EXCEPTIONS 1
#endif
#ifndef CULVERT_NO_EXCEPTIONS
#    include <exception>
#endif

/* Parts of one program may be compiled with exceptions and without: their types are different. */
#ifdef CULVERT_NO_EXCEPTIONS
#    define CULVERT_ERRORS_ returning
#else
#    define CULVERT_ERRORS_ throwing
#endif

namespace culvert {
inline namespace CULVERT_ERRORS_ {

#ifndef CULVERT_NO_EXCEPTIONS

/** The exception of a call that failed: the thread's last error. */
class error : public std::exception {
  public:
    explicit error(culv_result result) noexcept : error_(culv_error_init())
    {
        culv_last_error(&error_);
        error_.result = result;
    }
    /** The message: what was wrong, with the values, and what to do. */
    const char *what() const noexcept override
    {
        return error_.message;
    }
    culv_result result() const noexcept
    {
        return error_.result;
    }
    culv_reason reason() const noexcept
    {
        return error_.reason;
    }
    /** All of it, with the driver's own code. */
    const culv_error &get() const noexcept
    {
        return error_;
    }

  private:
    culv_error error_;
};

/** The result of a call that makes something. */
template <class T> using made = T;
/** The result of any other call that can fail. */
using done = void;

namespace detail {
inline void finish(culv_result result)
{
    if (result != CULV_OK) throw error(result);
}
template <class T> inline T finish(culv_result result, T &&value)
{
    if (result != CULV_OK) throw error(result);
    return std::forward<T>(value);
}
} // namespace detail

#else

/** The result of a call that makes something: the object, or the error. The thread's last error has
 * the message. Test it before you take the object, which is empty after an error. */
template <class T> class [[nodiscard]] made {
  public:
    made(culv_result result, T &&value) noexcept : result_(result), value_(std::move(value)) {}
    explicit operator bool() const noexcept
    {
        return result_ == CULV_OK;
    }
    culv_result result() const noexcept
    {
        return result_;
    }
    T &operator*() &noexcept
    {
        return value_;
    }
    T &&operator*() &&noexcept
    {
        return std::move(value_);
    }
    T *operator->() noexcept
    {
        return &value_;
    }

  private:
    culv_result result_;
    T value_;
};
using done = culv_result;

namespace detail {
[[nodiscard]] inline culv_result finish(culv_result result) noexcept
{
    return result;
}
template <class T> inline made<T> finish(culv_result result, T &&value) noexcept
{
    return {result, std::move(value)};
}
} // namespace detail

#endif

/** Throws the error of a C call, or returns it if there are no exceptions. */
inline done ok(culv_result result)
{
    return detail::finish(result);
}

/** Owns one C object, and destroys it. An empty one may stand wherever NULL may. */
template <class T, auto Destroy> class handle {
  public:
    constexpr handle() noexcept = default;
    /** Takes ownership of an object that a C call made. */
    constexpr explicit handle(T *object) noexcept : object_(object) {}
    handle(handle &&other) noexcept : object_(other.release()) {}
    handle &operator=(handle &&other) noexcept
    {
        if (this != &other) {
            (void)reset();
            object_ = other.release();
        }
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle()
    {
        (void)reset();
    }

    /** Returns the object, for C calls. This handle still owns it. */
    T *get() const noexcept
    {
        return object_;
    }
    explicit operator bool() const noexcept
    {
        return object_ != nullptr;
    }
    /** Releases the object to the caller. */
    [[nodiscard]] T *release() noexcept
    {
        return std::exchange(object_, nullptr);
    }
    /** Destroys the object now. A refusal is returned, never thrown, and the object stays. A
     * destructor cannot report a refusal: if that matters, call this first. */
    culv_result reset() noexcept
    {
        if constexpr (std::is_invocable_v<decltype(Destroy), T **>)
            return result_of(Destroy, &object_);
        else
            return result_of(Destroy, &object_, nullptr);
    }
    /** Destroys the object behind the work of a stream, and does not wait for it. For objects whose
     * destroy call in C takes a `last_use`. */
    done destroy_after(CUstream last_use)
    {
        return detail::finish(result_of(Destroy, &object_, &last_use));
    }

  protected:
    /** Makes an object by a C call whose last argument is the address that it writes to. */
    template <class Object, class Call, class... Arguments>
    static made<Object> make(Call call, Arguments... arguments)
    {
        Object object;
        const culv_result result = call(arguments..., &object.object_);
        return detail::finish(result, std::move(object));
    }

  private:
    T *object_ = nullptr;
    template <class Call, class... Arguments>
    static culv_result result_of(Call call, Arguments... arguments) noexcept
    {
        if constexpr (std::is_void_v<std::invoke_result_t<Call, Arguments...>>)
            return call(arguments...), CULV_OK;
        else
            return call(arguments...);
    }
};

/** A CUDA device: culvert/device.h. */
class device : public handle<culv_device, culv_device_close> {
  public:
    using handle::handle;
    static made<device> open(int32_t ordinal, const culv_device_desc *desc = nullptr)
    {
        return make<device>(culv_device_open_by_ordinal, ordinal, desc);
    }
    static made<device> open(const culv_uuid &uuid, const culv_device_desc *desc = nullptr)
    {
        return make<device>(culv_device_open_by_uuid, &uuid, desc);
    }
    static made<device> open(const culv_luid &luid, uint32_t node_mask,
                             const culv_device_desc *desc = nullptr)
    {
        return make<device>(culv_device_open_by_luid, &luid, node_mask, desc);
    }
    CUcontext context() const noexcept
    {
        return culv_device_context(get());
    }
    uint64_t collect() noexcept
    {
        return culv_device_collect(get());
    }
    made<culv_device_caps> caps() const
    {
        culv_device_caps c = culv_device_caps_init();
        return detail::finish(culv_device_get_caps(get(), &c), std::move(c));
    }
    made<culv_device_counts> counts() const
    {
        culv_device_counts c = culv_device_counts_init();
        return detail::finish(culv_device_get_counts(get(), &c), std::move(c));
    }
    /** A function of the driver that serves the device, or NULL: "cuMemAlloc", 3020. */
    template <class Function> Function *cuda_proc(const char *name, int version) const noexcept
    {
        return reinterpret_cast<Function *>(culv_device_cuda_proc(get(), name, version));
    }
};

/** Physical memory: culvert/vmm.h. */
class vmm_allocation : public handle<culv_vmm_allocation, culv_vmm_allocation_destroy> {
  public:
    using handle::handle;
    static made<vmm_allocation> create(culv_device *device, const culv_vmm_allocation_desc &desc)
    {
        return make<vmm_allocation>(culv_vmm_allocation_create, device, &desc);
    }
    made<culv_vmm_allocation_info> info() const
    {
        culv_vmm_allocation_info i = culv_vmm_allocation_info_init();
        return detail::finish(culv_vmm_allocation_get_info(get(), &i), std::move(i));
    }
};

/** Addresses, and what is mapped there: culvert/vmm.h. */
class vmm_range : public handle<culv_vmm_range, culv_vmm_range_destroy> {
  public:
    using handle::handle;
    static made<vmm_range> create(culv_device *device, const culv_vmm_range_desc &desc)
    {
        return make<vmm_range>(culv_vmm_range_create, device, &desc);
    }
    CUdeviceptr pointer() const noexcept
    {
        return culv_vmm_range_pointer(get());
    }
    uint64_t size() const noexcept
    {
        return culv_vmm_range_size(get());
    }
    /** The range's own device may read and write, unless `access` says otherwise. */
    done map(uint64_t offset, const vmm_allocation &allocation,
             const culv_vmm_access *access = nullptr, size_t count = 0)
    {
        return detail::finish(culv_vmm_map(get(), offset, allocation.get(), access, count));
    }
    done unmap(uint64_t offset, uint64_t size)
    {
        return detail::finish(culv_vmm_unmap(get(), offset, size, nullptr));
    }
    done unmap_after(uint64_t offset, uint64_t size, CUstream last_use)
    {
        return detail::finish(culv_vmm_unmap(get(), offset, size, &last_use));
    }
};

/** A buffer that grows in place: culvert/vector.h. */
class vector : public handle<culv_vector, culv_vector_destroy> {
  public:
    using handle::handle;
    static made<vector> create(culv_device *device, const culv_vector_desc &desc)
    {
        return make<vector>(culv_vector_create, device, &desc);
    }
    CUdeviceptr pointer() const noexcept
    {
        return culv_vector_pointer(get());
    }
    uint64_t size() const noexcept
    {
        return culv_vector_size(get());
    }
    uint64_t committed() const noexcept
    {
        return culv_vector_committed(get());
    }
    uint64_t generation() const noexcept
    {
        return culv_vector_generation(get());
    }
    done grow(uint64_t size)
    {
        return detail::finish(culv_vector_grow(get(), size));
    }
    done reserve(uint64_t size)
    {
        return detail::finish(culv_vector_reserve(get(), size));
    }
    done shrink(uint64_t size, CUstream last_use)
    {
        return detail::finish(culv_vector_shrink(get(), size, last_use));
    }
};

/** A buffer of CUDA and of a graphics API: culvert/shared.h. */
class shared_buffer : public handle<culv_shared_buffer, culv_shared_buffer_destroy> {
  public:
    using handle::handle;
    CUdeviceptr pointer() const noexcept
    {
        return culv_shared_buffer_pointer(get());
    }
    culv_buffer *cuda() const noexcept
    {
        return culv_shared_buffer_cuda(get());
    }
    uint64_t size() const noexcept
    {
        return culv_buffer_size(cuda());
    }
};

/** An image of CUDA and of a graphics API: culvert/shared.h. */
class shared_image : public handle<culv_shared_image, culv_shared_image_destroy> {
  public:
    using handle::handle;
    culv_image *cuda() const noexcept
    {
        return culv_shared_image_cuda(get());
    }
    made<CUarray> array(uint32_t level = 0, uint32_t plane = 0) const
    {
        CUarray a = nullptr;
        return detail::finish(culv_image_get_array(cuda(), level, plane, &a), std::move(a));
    }
    made<CUsurfObject> surface(uint32_t level = 0, uint32_t plane = 0) const
    {
        CUsurfObject s = 0;
        return detail::finish(culv_image_get_surface(cuda(), level, plane, &s), std::move(s));
    }
};

namespace detail {
inline culv_result give_up(culv_shared_semaphore **semaphore) noexcept
{
    culv_shared_semaphore *s = std::exchange(*semaphore, nullptr);
    return s != nullptr ? culv_shared_semaphore_submit_failed(s) : CULV_OK;
}
} // namespace detail

/** CUDA's wait for a signal that your queue has yet to make. Call submitted() right after the
 * submission. If the object is destroyed before, as by an exception, it signals instead
 * (culv_shared_semaphore_submit_failed()), so that nothing waits for ever. Make it after the
 * objects that the work uses; the semaphore must outlive it. */
class [[nodiscard]] pending_wait : handle<culv_shared_semaphore, detail::give_up> {
  public:
    using handle::handle;
    void submitted() noexcept
    {
        (void)release();
    }
};

/** A semaphore of CUDA and of a graphics API, mostly a timeline: culvert/shared.h. */
class shared_semaphore : public handle<culv_shared_semaphore, culv_shared_semaphore_destroy> {
  public:
    using handle::handle;
    culv_semaphore *cuda() const noexcept
    {
        return culv_shared_semaphore_cuda(get());
    }
    done signal(CUstream stream, uint64_t value)
    {
        return detail::finish(culv_semaphore_signal(cuda(), stream, value));
    }
    /** Waits for a signal that is submitted already; otherwise use wait_for_submit(). */
    done wait(CUstream stream, uint64_t value)
    {
        return detail::finish(culv_semaphore_wait(cuda(), stream, value));
    }
    /** Waits for a value that your next submission signals. */
    made<pending_wait> wait_for_submit(CUstream stream, uint64_t value)
    {
        const culv_result result = culv_semaphore_wait(cuda(), stream, value);
        return detail::finish(result, pending_wait(result == CULV_OK ? get() : nullptr));
    }
    done wait_on_host(uint64_t value, uint64_t timeout) const
    {
        return detail::finish(culv_shared_semaphore_wait_on_host(get(), value, timeout));
    }
};

namespace detail {
/* What the turns of all sides have. */
class turn {
  public:
    turn() noexcept : frame_() {}
    turn(turn &&other) noexcept
        : ring_(std::exchange(other.ring_, nullptr)), side_(other.side_), frame_(other.frame_)
    {
    }
    turn &operator=(turn &&other) noexcept
    {
        if (this != &other) {
            cancel();
            ring_ = std::exchange(other.ring_, nullptr);
            side_ = other.side_;
            frame_ = other.frame_;
        }
        return *this;
    }
    ~turn()
    {
        cancel();
    }
    uint32_t slot() const noexcept
    {
        return frame_.slot;
    }
    uint64_t number() const noexcept
    {
        return frame_.number;
    }
    /** Gives the slot back as it was. */
    void cancel() noexcept
    {
        culv_ring *ring = std::exchange(ring_, nullptr);
        if (ring != nullptr) (void)culv_ring_cancel(ring, side_, &frame_);
    }

  protected:
    done handed_over(culv_result result)
    {
        if (result == CULV_OK) ring_ = nullptr;
        return finish(result);
    }
    culv_ring *ring_ = nullptr;
    culv_ring_side side_ = CULV_RING_PRODUCER;
    culv_ring_frame frame_;
};
} // namespace detail

/** A side's turn with a slot. If you do not release it, it is cancelled, so an exception between
 * acquire and release leaves the ring as it was. The ring must outlive it. */
class ring_frame : public detail::turn {
  public:
    const culv_ring_frame &get() const noexcept
    {
        return frame_;
    }
    /** Makes the stream signal, and hands the slot to the other side. */
    done release()
    {
        return handed_over(culv_ring_release_on(ring_, side_, stream_, &frame_));
    }

  private:
    friend class ring_view;
    CUstream stream_ = nullptr;
};

/** A ring that another object owns: culvert/ring.h. */
class ring_view {
  public:
    constexpr explicit ring_view(culv_ring *ring) noexcept : ring_(ring) {}
    culv_ring *get() const noexcept
    {
        return ring_;
    }
    /** Gets the next slot for CUDA's side. `stream` waits for the other side, the host only for a
     * free slot or a frame, at most `timeout` nanoseconds. */
    made<ring_frame> acquire(culv_ring_side side, CUstream stream,
                             uint64_t timeout = CULV_RING_FOREVER) const
    {
        ring_frame f;
        const culv_result result = culv_ring_acquire_on(ring_, side, stream, timeout, &f.frame_);
        if (result == CULV_OK) {
            f.ring_ = ring_;
            f.side_ = side;
            f.stream_ = stream;
        }
        return detail::finish(result, std::move(f));
    }
    done flush(culv_ring_side side, CUstream stream) const
    {
        return detail::finish(culv_ring_flush_on(ring_, side, stream));
    }
    done configure(const culv_ring_settings &settings) const
    {
        return detail::finish(culv_ring_configure(ring_, &settings));
    }
    done drain(uint64_t timeout = CULV_RING_FOREVER, bool force = false) const
    {
        return detail::finish(culv_ring_drain(ring_, timeout, force));
    }
    done stop() const
    {
        return detail::finish(culv_ring_stop(ring_));
    }
    made<culv_ring_stats> stats() const
    {
        culv_ring_stats s = culv_ring_stats_init();
        return detail::finish(culv_ring_get_stats(ring_, &s), std::move(s));
    }

  private:
    culv_ring *ring_;
};

/** A ring: culvert/ring.h. create() makes one on slots and timelines of your own. */
class ring : public handle<culv_ring, culv_ring_destroy> {
  public:
    using handle::handle;
    static made<ring> create(culv_device *device, const culv_ring_desc &desc)
    {
        return make<ring>(culv_ring_create, device, &desc);
    }
    ring_view view() const noexcept
    {
        return ring_view(get());
    }
    CUdeviceptr pointer(uint32_t slot, uint32_t resource) const noexcept
    {
        return culv_ring_pointer(get(), slot, resource);
    }
};

static_assert(sizeof(device) == sizeof(culv_device *), "an object is as large as a pointer");

} // namespace CULVERT_ERRORS_
} // namespace culvert

#endif
