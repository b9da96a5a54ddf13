// SPDX-License-Identifier: MIT
//! CUDA and Vulkan on the same GPU memory: a small safe layer over Culvert's C API ([`sys`]), whose headers have the
//! rules of each call. Objects hold references to what they were made with, so they may be dropped in any order. Only
//! the `VkInstance` and the `VkDevice` must outlive them, which [`Vulkan::attach`] has you promise.
use std::ffi::{c_void, CString};
use std::marker::PhantomData;
use std::os::raw::c_int;
use std::ptr::{null, null_mut};
use std::time::Duration;

pub use culvert_sys as sys;
pub use sys::Error;
use sys::check;

pub type Result<T> = std::result::Result<T, Error>;

/// A type that owns a C object, and destroys it. A destroy call that refuses keeps the object, which then leaks.
macro_rules! owner {
    ($(#[$doc:meta])* $name:ident, $c:ident, $destroy:ident $(, $last_use:expr)?) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(*mut sys::$c);

        impl $name {
            /// The C object, for calls of [`sys`]. It stays this one's.
            pub fn as_ptr(&self) -> *mut sys::$c {
                self.0
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                let _ = unsafe { sys::$destroy(&mut self.0 $(, $last_use)?) };
            }
        }
    };
}

owner!(
    /// A CUDA device.
    Device, culv_device, culv_device_close
);
owner!(
    /// An attachment to a `VkDevice`.
    Vulkan, culv_vk_device, culv_vk_detach
);
owner!(
    /// An image of both APIs, in memory of its own.
    Image, culv_shared_image, culv_shared_image_destroy, null()
);
owner!(
    /// A timeline that both APIs signal and wait for.
    Timeline, culv_shared_semaphore, culv_shared_semaphore_destroy, null()
);
owner!(
    /// Frames between CUDA and Vulkan.
    Ring, culv_ring, culv_ring_destroy, null()
);

// The C API takes calls for them from any thread.
unsafe impl Send for Device {}
unsafe impl Sync for Device {}
unsafe impl Send for Vulkan {}
unsafe impl Sync for Vulkan {}

impl Device {
    /// The CUDA device of that number.
    pub fn open(ordinal: i32) -> Result<Device> {
        let mut device = null_mut();
        check(unsafe { sys::culv_device_open_by_ordinal(ordinal, null(), &mut device) })?;
        Ok(Device(device))
    }

    /// The CUDA device that is the first physical device of Vulkan's that CUDA can reach, and that device.
    ///
    /// # Safety
    /// `instance` is a `VkInstance`, and `get` is its loader's.
    pub unsafe fn choose(get: sys::PFN_vkGetInstanceProcAddr, instance: sys::VkInstance) -> Result<(Device, sys::VkPhysicalDevice)> {
        let (mut device, mut physical) = (null_mut(), null_mut());
        check(sys::culv_vk_choose_physical_device(get, instance, null(), &mut physical, &mut device))?;
        Ok((Device(device), physical))
    }

    pub fn context(&self) -> sys::CUcontext {
        unsafe { sys::culv_device_context(self.0) }
    }

    /// Releases what was given up and is no longer in use. Returns how much is left.
    pub fn collect(&self) -> u64 {
        unsafe { sys::culv_device_collect(self.0) }
    }

    /// A function of the driver that serves this device, as cuGetProcAddress names it.
    ///
    /// # Safety
    /// `F` is the function's type, a pointer.
    pub unsafe fn function<F: Copy>(&self, name: &str, version: i32) -> Option<F> {
        assert_eq!(std::mem::size_of::<F>(), std::mem::size_of::<usize>());
        let name = CString::new(name).ok()?;
        // Older versions of bindgen give the function that it returns this call's own parameters.
        let found = sys::culv_device_cuda_proc(self.0, name.as_ptr(), version);
        found.map(|f| std::mem::transmute_copy(&f))
    }

    /// A stream of the device's.
    pub fn stream(&self) -> Result<Stream<'_>> {
        let mut stream: sys::CUstream = null_mut();
        self.call("cuStreamCreate", 2000, |create: unsafe extern "C" fn(*mut sys::CUstream, u32) -> c_int| unsafe {
            create(&mut stream, 1) // CU_STREAM_NON_BLOCKING
        })?;
        Ok(Stream(stream, self))
    }

    /// A driver call on this thread, with the device's context. The thread's own is current again afterwards.
    fn call<F: Copy>(&self, name: &str, version: i32, run: impl FnOnce(F) -> c_int) -> Result<()> {
        type Push = unsafe extern "C" fn(sys::CUcontext) -> c_int;
        type Pop = unsafe extern "C" fn(*mut sys::CUcontext) -> c_int;
        let (push, pop) = unsafe { (self.function::<Push>("cuCtxPushCurrent", 4000), self.function::<Pop>("cuCtxPopCurrent", 4000)) };
        let code = match (push, pop, unsafe { self.function::<F>(name, version) }) {
            (Some(push), Some(pop), Some(f)) => match unsafe { push(self.context()) } {
                0 => {
                    let code = run(f);
                    let mut ours = null_mut();
                    let popped = unsafe { pop(&mut ours) };
                    if code != 0 { code } else { popped }
                }
                code => code,
            },
            _ => return Err(failed(format!("{name}: this driver has no such function"))),
        };
        if code == 0 { Ok(()) } else { Err(failed(format!("{name}: CUresult {code}"))) }
    }

    fn write(&self, to: u64, from: &[u8]) -> Result<()> {
        self.call("cuMemcpyHtoD", 3020, |copy: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int| unsafe {
            copy(to, from.as_ptr().cast(), from.len())
        })?;
        // A copy from pageable memory may be on its way when the call returns, and streams that are NON_BLOCKING and
        // Vulkan's queues do not wait for it. It is in the legacy stream.
        self.call("cuStreamSynchronize", 2000, |wait: unsafe extern "C" fn(sys::CUstream) -> c_int| unsafe { wait(1 as _) })
    }

    fn read(&self, from: u64, to: &mut [u8]) -> Result<()> {
        self.call("cuMemcpyDtoH", 3020, |copy: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int| unsafe {
            copy(to.as_mut_ptr().cast(), from, to.len())
        })
    }
}

fn failed(message: String) -> Error {
    Error { result: sys::CULV_ERROR_DRIVER, reason: sys::CULV_REASON_DRIVER_REFUSED, message }
}

fn refused(message: String) -> Error {
    Error { result: sys::CULV_ERROR_INVALID, reason: sys::CULV_REASON_RANGE, message }
}

/// A stream of CUDA's. It waits for its work before it goes.
#[derive(Debug)]
pub struct Stream<'a>(sys::CUstream, &'a Device);

impl Stream<'_> {
    pub fn as_raw(&self) -> sys::CUstream {
        self.0
    }

    /// Waits on the host for all work of the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.1.call("cuStreamSynchronize", 2000, |f: unsafe extern "C" fn(sys::CUstream) -> c_int| unsafe { f(self.0) })
    }

    /// Sets `count` words of 4 bytes, in the stream's order.
    ///
    /// # Safety
    /// The words are CUDA's memory, and live until the work is done.
    pub unsafe fn fill(&self, pointer: u64, word: u32, count: usize) -> Result<()> {
        self.1.call(
            "cuMemsetD32Async",
            3020,
            |f: unsafe extern "C" fn(u64, u32, usize, sys::CUstream) -> c_int| f(pointer, word, count, self.0),
        )
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        let _ = self.synchronize();
        let _ = self.1.call("cuStreamDestroy", 4000, |f: unsafe extern "C" fn(sys::CUstream) -> c_int| unsafe { f(self.0) });
    }
}

impl Vulkan {
    /// Attaches to a `VkDevice`. `desc` comes of `sys::described()`, with Vulkan's handles filled in.
    ///
    /// # Safety
    /// The handles of `desc` are alive and were made as culvert/vulkan.h says. They outlive the attachment and all that
    /// is made with it.
    pub unsafe fn attach(device: &Device, desc: &sys::culv_vk_device_desc) -> Result<Vulkan> {
        let mut vk = null_mut();
        check(sys::culv_vk_attach(device.0, desc, &mut vk))?;
        Ok(Vulkan(vk))
    }
}

/// A buffer of both APIs, in memory of its own.
#[derive(Debug)]
pub struct Buffer<'a> {
    object: *mut sys::culv_shared_buffer,
    device: &'a Device,
}

impl<'a> Buffer<'a> {
    /// Bytes, and VkBufferUsageFlags.
    pub fn create(device: &'a Device, vulkan: &Vulkan, size: u64, usage: u32) -> Result<Buffer<'a>> {
        Buffer::make(device, vulkan, size, usage, false)
    }

    /// In host memory, which the CPU reads in place ([`Buffer::host`]).
    pub fn create_on_host(device: &'a Device, vulkan: &Vulkan, size: u64, usage: u32) -> Result<Buffer<'a>> {
        Buffer::make(device, vulkan, size, usage, true)
    }

    fn make(device: &'a Device, vulkan: &Vulkan, size: u64, usage: u32, host: bool) -> Result<Buffer<'a>> {
        let info = buffer_info(size, usage);
        let mut desc: sys::culv_vk_buffer_create_desc = sys::described();
        desc.create_info = &info;
        desc.host_memory = host as u32;
        let mut object = null_mut();
        check(unsafe { sys::culv_vk_buffer_create(vulkan.0, &desc, &mut object) })?;
        Ok(Buffer { object, device })
    }

    pub fn as_ptr(&self) -> *mut sys::culv_shared_buffer {
        self.object
    }

    /// Vulkan's half.
    pub fn vulkan(&self) -> sys::VkBuffer {
        unsafe { sys::culv_vk_buffer_handle(self.object) }
    }

    /// CUDA's half: the first byte.
    pub fn pointer(&self) -> u64 {
        unsafe { sys::culv_shared_buffer_pointer(self.object) }
    }

    pub fn size(&self) -> u64 {
        unsafe { sys::culv_buffer_size(sys::culv_shared_buffer_cuda(self.object)) }
    }

    /// The bytes of a buffer in host memory. Nobody may write them meanwhile: wait for both APIs first.
    pub fn host(&self) -> Option<&[u8]> {
        let first = unsafe { sys::culv_vk_buffer_host_pointer(self.object) };
        (!first.is_null()).then(|| unsafe { std::slice::from_raw_parts(first.cast(), self.size() as usize) })
    }

    /// Copies into the buffer by CUDA, and waits for that: whoever reads the buffer afterwards sees it. It does not wait
    /// for earlier work of a stream of [`Device::stream`] or of Vulkan.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Result<()> {
        self.device.write(self.at(offset, from.len())?, from)
    }

    /// Copies out of the buffer by CUDA, and waits for that.
    pub fn read(&self, offset: u64, to: &mut [u8]) -> Result<()> {
        self.device.read(self.at(offset, to.len())?, to)
    }

    fn at(&self, offset: u64, size: usize) -> Result<u64> {
        match offset.checked_add(size as u64) {
            Some(end) if end <= self.size() => Ok(self.pointer() + offset),
            _ => Err(refused(format!("{size} bytes at {offset} are not in the buffer, which has {}", self.size()))),
        }
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let _ = unsafe { sys::culv_shared_buffer_destroy(&mut self.object, null()) };
    }
}

fn buffer_info(size: u64, usage: u32) -> sys::VkBufferCreateInfo {
    let mut info: sys::VkBufferCreateInfo = unsafe { std::mem::zeroed() };
    info.sType = sys::VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = size;
    info.usage = usage;
    info
}

impl Image {
    /// A 2D image of one level: a VkFormat, and VkImageUsageFlags.
    pub fn create(vulkan: &Vulkan, width: u32, height: u32, format: sys::VkFormat, usage: u32) -> Result<Image> {
        let mut info: sys::VkImageCreateInfo = unsafe { std::mem::zeroed() };
        info.sType = sys::VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
        info.imageType = sys::VK_IMAGE_TYPE_2D;
        info.format = format;
        info.extent = sys::VkExtent3D { width, height, depth: 1 };
        info.mipLevels = 1;
        info.arrayLayers = 1;
        info.samples = sys::VK_SAMPLE_COUNT_1_BIT;
        info.usage = usage;
        unsafe { Image::create_as(vulkan, &info) }
    }

    /// Any image that can be shared.
    ///
    /// # Safety
    /// What `info` points to is alive.
    pub unsafe fn create_as(vulkan: &Vulkan, info: &sys::VkImageCreateInfo) -> Result<Image> {
        let mut desc: sys::culv_vk_image_create_desc = sys::described();
        desc.create_info = info;
        let mut image = null_mut();
        check(sys::culv_vk_image_create(vulkan.0, &desc, &mut image))?;
        Ok(Image(image))
    }

    /// Vulkan's half.
    pub fn vulkan(&self) -> sys::VkImage {
        unsafe { sys::culv_vk_image_handle(self.0) }
    }

    /// CUDA's half: the array of a level.
    pub fn array(&self, level: u32) -> Result<sys::CUarray> {
        let mut array = null_mut();
        check(unsafe { sys::culv_image_get_array(sys::culv_shared_image_cuda(self.0), level, 0, &mut array) })?;
        Ok(array)
    }
}

impl Timeline {
    /// It begins at 0.
    pub fn create(vulkan: &Vulkan) -> Result<Timeline> {
        let mut timeline = null_mut();
        check(unsafe { sys::culv_vk_semaphore_create(vulkan.0, null(), &mut timeline) })?;
        Ok(Timeline(timeline))
    }

    /// Vulkan's half.
    pub fn vulkan(&self) -> sys::VkSemaphore {
        unsafe { sys::culv_vk_semaphore_handle(self.0) }
    }

    /// The stream signals `value`, when it gets there.
    pub fn signal(&self, stream: &Stream, value: u64) -> Result<()> {
        check(unsafe { sys::culv_semaphore_signal(sys::culv_shared_semaphore_cuda(self.0), stream.0, value) })
    }

    /// The stream waits until `value` is signaled. For what is submitted already; else [`Timeline::wait_for_submit`].
    pub fn wait(&self, stream: &Stream, value: u64) -> Result<()> {
        check(unsafe { sys::culv_semaphore_wait(sys::culv_shared_semaphore_cuda(self.0), stream.0, value) })
    }

    /// The stream waits for a value that a submission of yours is to signal next. Say [`PendingWait::submitted`] behind
    /// it. Take it after the objects that the work uses, so that it goes before them.
    pub fn wait_for_submit<'a>(&'a self, stream: &'a Stream, value: u64) -> Result<PendingWait<'a>> {
        self.wait(stream, value)?;
        Ok(PendingWait(Some(self), PhantomData))
    }

    /// The host waits until `value` is signaled.
    pub fn wait_on_host(&self, value: u64, timeout: Duration) -> Result<()> {
        check(unsafe { sys::culv_shared_semaphore_wait_on_host(self.0, value, nanoseconds(timeout)) })
    }
}

/// CUDA's wait for a submission that is yet to come. One that is dropped without [`PendingWait::submitted`], as by an
/// error, signals in its place, so that nothing waits for ever.
#[derive(Debug)]
#[must_use = "dropped at once, it signals in place of the submission"]
pub struct PendingWait<'a>(Option<&'a Timeline>, PhantomData<&'a Stream<'a>>);

impl PendingWait<'_> {
    pub fn submitted(mut self) {
        self.0 = None;
    }
}

impl Drop for PendingWait<'_> {
    fn drop(&mut self) {
        if let Some(timeline) = self.0 {
            let _ = unsafe { sys::culv_shared_semaphore_submit_failed(timeline.0) };
        }
    }
}

fn nanoseconds(timeout: Duration) -> u64 {
    timeout.as_nanos().try_into().unwrap_or(u64::MAX)
}

impl Ring {
    /// A ring in which each slot has a buffer of `size` bytes. CUDA produces, and Vulkan consumes by `queue`.
    ///
    /// # Safety
    /// `queue` is of the family `queue_family` of the attached device, and no other thread uses it meanwhile.
    pub unsafe fn of_buffers(
        vulkan: &Vulkan,
        queue: sys::VkQueue,
        queue_family: u32,
        depth: u32,
        size: u64,
        usage: u32,
    ) -> Result<Ring> {
        let info = buffer_info(size, usage);
        let mut buffer: sys::culv_vk_buffer_create_desc = sys::described();
        buffer.create_info = &info;
        let mut resource: sys::culv_vk_ring_resource = std::mem::zeroed();
        resource.buffer = &buffer;
        let mut desc: sys::culv_vk_ring_desc = sys::described();
        desc.max_depth = depth;
        desc.resources = &resource;
        desc.num_resources = 1;
        desc.side = sys::CULV_RING_CONSUMER;
        desc.queue_family = queue_family;
        Ring::create(vulkan, queue, &desc)
    }

    /// Any ring in which CUDA produces and Vulkan consumes: [`Frame`] and [`VulkanFrame`] are of these sides.
    ///
    /// # Safety
    /// As [`Ring::of_buffers`], and what `desc` points to is alive.
    pub unsafe fn create(vulkan: &Vulkan, queue: sys::VkQueue, desc: &sys::culv_vk_ring_desc) -> Result<Ring> {
        if desc.side != sys::CULV_RING_CONSUMER {
            let message = "culv_vk_ring_desc.side is not CULV_RING_CONSUMER: in this crate CUDA produces and Vulkan consumes".to_string();
            return Err(Error { result: sys::CULV_ERROR_INVALID, reason: sys::CULV_REASON_VALUE, message });
        }
        let mut ring = null_mut();
        check(sys::culv_vk_ring_create(vulkan.0, queue, desc, &mut ring))?;
        Ok(Ring(ring))
    }

    /// A slot's buffer in CUDA. 0: there is none.
    pub fn pointer(&self, slot: u32, resource: u32) -> u64 {
        unsafe { sys::culv_ring_pointer(self.0, slot, resource) }
    }

    /// CUDA's next slot. Its stream waits for Vulkan, and the host for a free slot.
    pub fn produce<'a>(&'a self, stream: &'a Stream, timeout: Duration) -> Result<Frame<'a>> {
        let mut frame: sys::culv_ring_frame = unsafe { std::mem::zeroed() };
        check(unsafe {
            sys::culv_ring_acquire_on(self.0, sys::CULV_RING_PRODUCER, stream.0, nanoseconds(timeout), &mut frame)
        })?;
        Ok(Frame { ring: self, stream: stream.0, frame, held: true, life: PhantomData })
    }

    /// Vulkan's next frame.
    pub fn consume(&self, timeout: Duration) -> Result<VulkanFrame<'_>> {
        let mut frame: sys::culv_ring_frame = unsafe { std::mem::zeroed() };
        check(unsafe { sys::culv_ring_acquire(self.0, sys::CULV_RING_CONSUMER, nanoseconds(timeout), &mut frame) })?;
        Ok(VulkanFrame { ring: self, frame, held: true })
    }

    /// Waits until all frames have gone through both sides.
    pub fn drain(&self, timeout: Duration) -> Result<()> {
        check(unsafe { sys::culv_ring_drain(self.0, nanoseconds(timeout), 0) })
    }
}

/// CUDA's turn with a slot. One that is dropped without [`Frame::release`] is cancelled.
#[derive(Debug)]
pub struct Frame<'a> {
    ring: &'a Ring,
    stream: sys::CUstream,
    frame: sys::culv_ring_frame,
    held: bool,
    life: PhantomData<&'a Stream<'a>>,
}

impl Frame<'_> {
    pub fn slot(&self) -> u32 {
        self.frame.slot
    }

    pub fn number(&self) -> u64 {
        self.frame.number
    }

    /// The stream signals, and Vulkan may have the slot.
    pub fn release(mut self) -> Result<()> {
        check(unsafe { sys::culv_ring_release_on(self.ring.0, sys::CULV_RING_PRODUCER, self.stream, &mut self.frame) })?;
        self.held = false;
        Ok(())
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        if self.held {
            unsafe { sys::culv_ring_cancel(self.ring.0, sys::CULV_RING_PRODUCER, &mut self.frame) };
        }
    }
}

/// Vulkan's turn with a slot. One that is dropped without [`VulkanFrame::submit`] is cancelled.
#[derive(Debug)]
pub struct VulkanFrame<'a> {
    ring: &'a Ring,
    frame: sys::culv_ring_frame,
    held: bool,
}

impl VulkanFrame<'_> {
    pub fn slot(&self) -> u32 {
        self.frame.slot
    }

    pub fn number(&self) -> u64 {
        self.frame.number
    }

    /// The barriers to record before the use of the slot, and after it.
    pub fn barriers(&self) -> (*const sys::VkDependencyInfo, *const sys::VkDependencyInfo) {
        let of = |direction| unsafe { sys::culv_vk_ring_barriers(self.ring.0, self.frame.slot, direction) };
        (of(sys::CULV_VK_ACQUIRE), of(sys::CULV_VK_RELEASE))
    }

    /// Submits the slot's command buffer, which waits for CUDA and signals.
    ///
    /// # Safety
    /// The command buffer and the ring live until the submission has run, and no other thread uses the queue meanwhile.
    pub unsafe fn submit(mut self, queue: sys::VkQueue, commands: sys::VkCommandBuffer) -> Result<()> {
        check(sys::culv_vk_ring_submit(self.ring.0, queue, commands, null_mut(), &mut self.frame))?;
        self.held = false;
        Ok(())
    }
}

impl Drop for VulkanFrame<'_> {
    fn drop(&mut self) {
        if self.held {
            unsafe { sys::culv_ring_cancel(self.ring.0, sys::CULV_RING_CONSUMER, &mut self.frame) };
        }
    }
}
