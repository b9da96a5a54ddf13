// SPDX-License-Identifier: MIT
//! Culvert's C API (include/culvert), as bindgen declares it, and the little that a safe layer begins
//! with: descriptors with their size set, and errors with their reason. The headers have the rules of
//! each call. `culvert/cuda_api.h` is left out: `culv_device_cuda_proc` finds the driver's functions.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

include!(concat!(env!("OUT_DIR"), "/declarations.rs"));

use std::ffi::CStr;

/// A C struct that has an `_init()` of its own. build.rs implements it for each, from the headers.
pub trait Described: Sized {
    /// What `_init()` returns.
    fn described() -> Self;
}

/// A C struct with its size and its defaults set, as its `_init()` makes it.
pub fn described<T: Described>() -> T {
    T::described()
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
    let mut e: culv_error = described();
    unsafe { culv_last_error(&mut e) };
    let message = unsafe { CStr::from_ptr(e.message.as_ptr()) }.to_string_lossy().into_owned();
    Err(Error { result, reason: e.reason, message })
}
