// SPDX-License-Identifier: MIT
//! A growing vector of CUDA's memory behind safe types. It needs no GPU with CULVERT_SOFT=1.
use culvert_sys::*;
use std::ffi::{c_void, CString};
use std::ptr::null;

struct Device(*mut culv_device);

impl Device {
    fn open(ordinal: i32) -> Result<Device, Error> {
        let mut device = std::ptr::null_mut();
        check(unsafe { culv_device_open_by_ordinal(ordinal, null(), &mut device) })?;
        Ok(Device(device))
    }

    fn function(&self, name: &str, version: i32) -> Option<unsafe extern "C" fn()> {
        let name = CString::new(name).ok()?;
        // bindgen 0.60 gives the function that it returns this call's own parameters.
        unsafe { std::mem::transmute(culv_device_cuda_proc(self.0, name.as_ptr(), version)) }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        unsafe { culv_device_close(&mut self.0) }
    }
}

/// It cannot outlive its device.
struct Vector<'a>(*mut culv_vector, &'a Device);

impl<'a> Vector<'a> {
    fn new(device: &'a Device, size: u64) -> Result<Vector<'a>, Error> {
        let mut desc: culv_vector_desc = described();
        desc.size = size;
        let mut vector = std::ptr::null_mut();
        check(unsafe { culv_vector_create(device.0, &desc, &mut vector) })?;
        Ok(Vector(vector, device))
    }

    fn grow(&mut self, size: u64) -> Result<(), Error> {
        check(unsafe { culv_vector_grow(self.0, size) })
    }

    fn pointer(&self) -> u64 {
        unsafe { culv_vector_pointer(self.0) }
    }

    fn write(&mut self, offset: u64, words: &[u32]) {
        type Call = unsafe extern "C" fn(u64, *const c_void, usize) -> i32;
        let call = self.1.function("cuMemcpyHtoD", 3020).expect("cuMemcpyHtoD");
        let call: Call = unsafe { std::mem::transmute(call) };
        assert_eq!(unsafe { call(self.pointer() + offset, words.as_ptr().cast(), words.len() * 4) }, 0);
    }

    fn read(&self, offset: u64, words: &mut [u32]) {
        type Call = unsafe extern "C" fn(*mut c_void, u64, usize) -> i32;
        let call = self.1.function("cuMemcpyDtoH", 3020).expect("cuMemcpyDtoH");
        let call: Call = unsafe { std::mem::transmute(call) };
        assert_eq!(unsafe { call(words.as_mut_ptr().cast(), self.pointer() + offset, words.len() * 4) }, 0);
    }
}

impl Drop for Vector<'_> {
    fn drop(&mut self) {
        unsafe { culv_vector_destroy(&mut self.0, null()) }
    }
}

fn main() -> Result<(), Error> {
    let device = Device::open(0)?;
    let call = device.function("cuCtxSetCurrent", 4000).expect("cuCtxSetCurrent");
    let set_current: unsafe extern "C" fn(CUcontext) -> i32 = unsafe { std::mem::transmute(call) };
    assert_eq!(unsafe { set_current(culv_device_context(device.0)) }, 0);
    let mut vector = Vector::new(&device, 1 << 20)?;
    let before = vector.pointer();
    let words: Vec<u32> = (0..1024).collect();
    vector.write(4096, &words);
    vector.grow(1 << 24)?;
    assert_eq!(vector.pointer(), before);
    let mut again = vec![0; 1024];
    vector.read(4096, &mut again);
    assert_eq!(words, again);
    let refused = vector.grow(u64::MAX).expect_err("there are no such addresses");
    assert_eq!(refused.result, CULV_ERROR_INVALID);
    println!("a vector grew in place; refused: {refused}");
    drop(vector);
    match Device::open(99) {
        Ok(_) => panic!("device 99"),
        Err(e) => assert_eq!((e.result, e.reason), (CULV_ERROR_NO_DEVICE, CULV_REASON_DEVICE_UNKNOWN)),
    }
    Ok(())
}
