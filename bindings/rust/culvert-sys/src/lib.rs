// SPDX-License-Identifier: MIT
//! Culvert's C API (include/culvert), as bindgen declares it, and the little that a safe layer begins
//! with: descriptors with their size set, and errors with their reason. The headers have the rules of
//! each call. `culvert/cuda_api.h` is left out: `culv_device_cuda_proc` finds the driver's functions.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

include!(concat!(env!("OUT_DIR"), "/declarations.rs"));

use std::ffi::CStr;

/// A C struct that begins with `struct_size`, empty and with its size set, as its `_init()` makes it.
/// `culv_vk_ring_desc` needs a `side` and a `queue_family` besides.
///
/// # Safety
/// `T` is a struct of Culvert's whose first member is `struct_size`.
pub unsafe fn described<T>() -> T {
    let mut made: T = std::mem::zeroed();
    *(&mut made as *mut T).cast::<size_t>() = std::mem::size_of::<T>() as size_t;
    made
}

/// What went wrong in the last call of this thread that failed.
#[derive(Debug, Clone)]
pub struct Error {
    pub result: culv_result,
    pub reason: culv_reason,
    pub message: String,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Ok for CULV_OK, else the thread's last error.
pub fn check(result: culv_result) -> Result<(), Error> {
    if result == CULV_OK {
        return Ok(());
    }
    let mut e: culv_error = unsafe { described() };
    unsafe { culv_last_error(&mut e) };
    let message = unsafe { CStr::from_ptr(e.message.as_ptr()) }.to_string_lossy().into_owned();
    Err(Error { result, reason: e.reason, message })
}
