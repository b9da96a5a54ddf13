// SPDX-License-Identifier: MIT
//! CUDA produces frames, Vulkan copies each into host memory, and every byte is compared; then a buffer, an image, a
//! timeline, and what is refused. It needs no GPU with CULVERT_SOFT=1.
use culvert::sys::*;
use culvert::{Buffer, Device, Error, Image, Ring, Timeline, Vulkan};
use std::os::raw::c_char;
use std::ptr::{null, null_mut};
use std::time::Duration;

#[link(name = "vulkan")]
extern "C" {
    fn vkGetInstanceProcAddr(instance: VkInstance, name: *const c_char) -> PFN_vkVoidFunction;
}

const WORDS: usize = 10007;
const FRAMES: u64 = 25;
const LONG: Duration = Duration::from_secs(10);
const TRANSFER_SRC: u32 = 1;
const TRANSFER_DST: u32 = 2;

/// What a program has without Culvert. It is declared before what Culvert makes, and so it goes last.
struct Mine {
    instance: VkInstance,
    device: VkDevice,
    pool: VkCommandPool,
    queue: VkQueue,
    family: u32,
}

/// A function of Vulkan's, by name.
macro_rules! vk {
    ($instance:expr, $name:literal, $type:ty) => {{
        let found = vkGetInstanceProcAddr($instance, concat!($name, "\0").as_ptr().cast());
        let typed: $type = std::mem::transmute(found);
        typed.expect($name)
    }};
}

fn ok(result: VkResult) {
    assert_eq!(result, VK_SUCCESS);
}

fn made<T>(kind: VkStructureType) -> T {
    let mut info: T = unsafe { std::mem::zeroed() };
    unsafe { *(&mut info as *mut T).cast::<VkStructureType>() = kind };
    info
}

impl Mine {
    unsafe fn open() -> Result<(Mine, Device, culv_vk_device_desc), Error> {
        let get: PFN_vkGetInstanceProcAddr = Some(vkGetInstanceProcAddr);
        let (mut layers, mut names) = ([null(); 8], [null(); 8]);
        let mut app: VkApplicationInfo = made(VK_STRUCTURE_TYPE_APPLICATION_INFO);
        app.apiVersion = 3 << 12 | 1 << 22;
        let mut asked: VkInstanceCreateInfo = made(VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO);
        asked.pApplicationInfo = &app;
        asked.enabledLayerCount = 8;
        asked.ppEnabledLayerNames = layers.as_ptr();
        check(culv_vk_merge_instance_layers(get, 0, null(), &mut asked.enabledLayerCount, layers.as_mut_ptr()))?;
        let mut mine = Mine { instance: null_mut(), device: null_mut(), pool: null_mut(), queue: null_mut(), family: 0 };
        ok(vk!(null_mut(), "vkCreateInstance", PFN_vkCreateInstance)(&asked, null(), &mut mine.instance));
        let (device, physical) = Device::choose(get, mine.instance)?;
        check(culv_vk_find_queue_family(get, mine.instance, physical, CULV_VK_QUEUE_GRAPHICS, &mut mine.family))?;
        let mut desc: culv_vk_device_desc = described();
        desc.get_instance_proc_addr = get;
        desc.instance = mine.instance;
        desc.physical_device = physical;
        desc.api_version = app.apiVersion;
        let priority = 1.0;
        let mut queues: VkDeviceQueueCreateInfo = made(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
        queues.queueFamilyIndex = mine.family;
        queues.queueCount = 1;
        queues.pQueuePriorities = &priority;
        let mut wanted: VkDeviceCreateInfo = made(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
        wanted.queueCreateInfoCount = 1;
        wanted.pQueueCreateInfos = &queues;
        wanted.enabledExtensionCount = 8;
        wanted.ppEnabledExtensionNames = names.as_ptr();
        let mut features: culv_vk_device_features = described();
        check(culv_vk_merge_device_extensions(&desc, 0, null(), &mut wanted.enabledExtensionCount, names.as_mut_ptr()))?;
        check(culv_vk_merge_device_features(&desc, null_mut(), &mut features, &mut wanted.pNext))?;
        ok(vk!(mine.instance, "vkCreateDevice", PFN_vkCreateDevice)(physical, &wanted, null(), &mut mine.device));
        desc.device = mine.device;
        vk!(mine.instance, "vkGetDeviceQueue", PFN_vkGetDeviceQueue)(mine.device, mine.family, 0, &mut mine.queue);
        let mut pool: VkCommandPoolCreateInfo = made(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
        pool.queueFamilyIndex = mine.family;
        ok(vk!(mine.instance, "vkCreateCommandPool", PFN_vkCreateCommandPool)(mine.device, &pool, null(), &mut mine.pool));
        Ok((mine, device, desc))
    }

    unsafe fn commands(&self, record: impl FnOnce(VkCommandBuffer)) -> VkCommandBuffer {
        let mut one: VkCommandBufferAllocateInfo = made(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
        one.commandPool = self.pool;
        one.commandBufferCount = 1;
        let begin: VkCommandBufferBeginInfo = made(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
        let mut commands = null_mut();
        ok(vk!(self.instance, "vkAllocateCommandBuffers", PFN_vkAllocateCommandBuffers)(self.device, &one, &mut commands));
        ok(vk!(self.instance, "vkBeginCommandBuffer", PFN_vkBeginCommandBuffer)(commands, &begin));
        record(commands);
        ok(vk!(self.instance, "vkEndCommandBuffer", PFN_vkEndCommandBuffer)(commands));
        commands
    }

    unsafe fn wait(&self) {
        ok(vk!(self.instance, "vkQueueWaitIdle", PFN_vkQueueWaitIdle)(self.queue));
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        unsafe {
            vk!(self.instance, "vkDestroyCommandPool", PFN_vkDestroyCommandPool)(self.device, self.pool, null());
            vk!(self.instance, "vkDestroyDevice", PFN_vkDestroyDevice)(self.device, null());
            vk!(self.instance, "vkDestroyInstance", PFN_vkDestroyInstance)(self.instance, null());
        }
    }
}

fn frames(mine: &Mine, device: &Device, vulkan: &Vulkan) -> Result<usize, Error> {
    let size = 4 * WORDS as u64;
    let ring = unsafe { Ring::of_buffers(vulkan, mine.queue, mine.family, 3, size, TRANSFER_SRC)? };
    let host = Buffer::create_on_host(device, vulkan, size, TRANSFER_DST)?;
    let stream = device.stream()?;
    let mut wrong = 0;
    for number in 0..FRAMES {
        drop(ring.produce(&stream, LONG)?); // nobody loses a slot by it
        let frame = ring.produce(&stream, LONG)?;
        assert_eq!(frame.number(), number);
        unsafe { stream.fill(ring.pointer(frame.slot(), 0), 0x0a00_0001 * number as u32, WORDS)? };
        frame.release()?;
        let turn = ring.consume(LONG)?;
        let copy = unsafe {
            mine.commands(|commands| {
                check(culv_vk_ring_record_copy(ring.as_ptr(), commands, turn.slot(), 0, host.vulkan(), 0, size)).unwrap()
            })
        };
        unsafe { turn.submit(mine.queue, copy)? };
        unsafe { mine.wait() };
        let wanted = (0x0a00_0001 * number as u32).to_ne_bytes();
        wrong += host.host().expect("host memory").iter().zip(wanted.iter().cycle()).filter(|(a, b)| a != b).count();
    }
    ring.drain(LONG)?;
    let empty = ring.consume(Duration::ZERO).err().expect("no frame is left");
    assert_eq!((empty.result, empty.reason), (CULV_ERROR_TIMEOUT, CULV_REASON_RING_EMPTY));
    Ok(wrong)
}

/// What Buffer::write wrote is there for a stream that waits for no other.
fn written_for_all(device: &Device, vulkan: &Vulkan) -> Result<(), Error> {
    const SIZE: usize = 16 << 20;
    let copy: unsafe extern "C" fn(u64, u64, usize, CUstream) -> i32 = unsafe { device.function("cuMemcpyDtoDAsync", 3020) }.unwrap();
    let (mut from, to) = (Buffer::create(device, vulkan, SIZE as u64, TRANSFER_SRC)?, Buffer::create(device, vulkan, SIZE as u64, TRANSFER_DST)?);
    let stream = device.stream()?;
    let mut back = vec![0; SIZE];
    for round in 1..=8 {
        let data = vec![round; SIZE];
        from.write(0, &data)?;
        assert_eq!(unsafe { copy(to.pointer(), from.pointer(), SIZE, stream.as_raw()) }, 0);
        stream.synchronize()?;
        to.read(0, &mut back)?;
        assert!(back == data, "old bytes in round {round}");
    }
    Ok(())
}

/// Somebody else's context is current before a call, and behind it.
fn leaves_the_context(device: &Device, buffer: &mut Buffer) -> Result<(), Error> {
    let create: unsafe extern "C" fn(*mut CUcontext, u32, i32) -> i32 = unsafe { device.function("cuCtxCreate", 3020) }.unwrap();
    let current: unsafe extern "C" fn(*mut CUcontext) -> i32 = unsafe { device.function("cuCtxGetCurrent", 4000) }.unwrap();
    let destroy: unsafe extern "C" fn(CUcontext) -> i32 = unsafe { device.function("cuCtxDestroy", 4000) }.unwrap();
    let mut theirs: CUcontext = null_mut();
    assert_eq!(unsafe { create(&mut theirs, 0, 0) }, 0);
    let stays = |call: &str| {
        let mut now: CUcontext = null_mut();
        assert_eq!((unsafe { current(&mut now) }, now), (0, theirs), "behind {call}");
    };
    buffer.write(0, &[1, 2, 3])?;
    stays("Buffer::write");
    buffer.read(0, &mut [0; 3])?;
    stays("Buffer::read");
    let stream = device.stream()?;
    stays("Device::stream");
    unsafe { stream.fill(buffer.pointer(), 7, 4)? };
    stays("Stream::fill");
    drop(stream);
    stays("drop of a Stream");
    assert_eq!(unsafe { destroy(theirs) }, 0);
    Ok(())
}

/// An error comes out between a wait of CUDA's and the submission that was to signal; a timeline alone goes, too.
fn gives_up(device: &Device, vulkan: &Vulkan) -> Result<(), Error> {
    let stream = device.stream()?;
    let alone = Timeline::create(vulkan)?;
    alone.wait(&stream, 5)?;
    drop(alone);
    stream.synchronize()?;
    let timeline = Timeline::create(vulkan)?;
    let _buffer = Buffer::create(device, vulkan, 4096, TRANSFER_SRC)?; // whose end waits for CUDA
    let pending = timeline.wait_for_submit(&stream, 1)?;
    check(unsafe { culv_shared_semaphore_submit_failed(null_mut()) })?; // the submission fails
    pending.submitted();
    Ok(())
}

fn others(device: &Device, vulkan: &Vulkan) -> Result<(), Error> {
    let mut buffer = Buffer::create(device, vulkan, 1027, TRANSFER_SRC | TRANSFER_DST)?;
    let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 7) as u8).collect();
    let mut again = vec![0; 1000];
    buffer.write(27, &bytes)?;
    buffer.read(27, &mut again)?;
    assert_eq!(bytes, again);
    assert!(buffer.host().is_none() && !buffer.vulkan().is_null() && buffer.size() == 1027);
    assert_eq!(buffer.write(28, &bytes).unwrap_err().reason, CULV_REASON_RANGE);

    written_for_all(device, vulkan)?;
    leaves_the_context(device, &mut buffer)?;
    let left = gives_up(device, vulkan).unwrap_err();
    assert_eq!(left.reason, CULV_REASON_NULL_ARGUMENT);

    let image = Image::create(vulkan, 61, 33, VK_FORMAT_R8G8B8A8_UNORM, TRANSFER_SRC)?;
    assert!(!image.vulkan().is_null() && !image.array(0)?.is_null());
    assert_eq!(image.array(1).unwrap_err().reason, CULV_REASON_LEVEL);

    let (timeline, stream) = (Timeline::create(vulkan)?, device.stream()?);
    timeline.wait(&stream, 1)?;
    assert_eq!(timeline.wait_on_host(1, Duration::ZERO).unwrap_err().result, CULV_ERROR_TIMEOUT);
    timeline.signal(&device.stream()?, 1)?;
    timeline.wait_on_host(1, LONG)?;
    stream.synchronize()?;
    let back = timeline.signal(&stream, 1).unwrap_err();
    assert_eq!(back.reason, CULV_REASON_TIMELINE_BACKWARDS);
    assert!(back.to_string().len() > 40, "{back}");
    Ok(())
}

fn main() -> Result<(), Error> {
    let (mine, device, desc) = unsafe { Mine::open()? };
    let vulkan = unsafe { Vulkan::attach(&device, &desc)? };
    let wrong = frames(&mine, &device, &vulkan)?;
    others(&device, &vulkan)?;
    println!("{wrong} of {} bytes are wrong in {FRAMES} frames", FRAMES as usize * 4 * WORDS);
    drop(vulkan);
    assert_eq!(device.collect(), 0);
    drop(mine); // nothing of Culvert's is left in Vulkan
    assert_eq!(Device::open(99).err().map(|e| e.reason), Some(CULV_REASON_DEVICE_UNKNOWN));
    std::process::exit((wrong != 0).into())
}
