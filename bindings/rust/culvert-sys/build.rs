// SPDX-License-Identifier: MIT
//! Finds libculvert, and the declarations of its headers: declarations.rs where the crate has one that is for this
//! system, else what bindgen makes (Debian: bindgen). They depend on the version of bindgen and on that of Vulkan's
//! headers.
use std::path::Path;
use std::process::Command;

fn main() {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}; without it, do so"));
    let (crate_dir, out) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR"));
    let out = Path::new(&out).join("declarations.rs");
    let packaged = Path::new(&crate_dir).join("declarations.rs");
    for name in ["CULVERT_BINDGEN", "CULVERT_LIB_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let target = |name| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let same = target("OS") == "linux" && ["x86_64", "aarch64"].contains(&target("ARCH").as_str());
    if packaged.exists() && same && std::env::var_os("CULVERT_BINDGEN").is_none() {
        std::fs::copy(packaged, out).expect("OUT_DIR cannot be written");
    } else {
        bindgen(Path::new(&crate_dir), &out);
    }

    println!("cargo:rustc-link-lib=culvert");
    let found = std::env::var("CULVERT_LIB_DIR").ok().or_else(|| {
        let said = Command::new("pkg-config").args(["--variable=libdir", "culvert"]).output().ok()?;
        let dir = String::from_utf8(said.stdout).ok()?.trim().to_string();
        (said.status.success() && !dir.is_empty()).then(|| dir)
    });
    if let Some(dir) = found {
        println!("cargo:rustc-link-search=native={dir}");
    }
}

/// Of the headers in the crate, or in the source tree around it.
fn bindgen(crate_dir: &Path, out: &Path) {
    let top = if crate_dir.join("include").exists() { crate_dir.to_path_buf() } else { crate_dir.join("../../..") };
    let headers = top.join("include/culvert");
    let mut names: Vec<String> = std::fs::read_dir(&headers)
        .expect("include/culvert")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".h") && name != "cudart.h") // which needs the CUDA runtime's
        .collect();
    names.sort();
    let all = out.with_file_name("all.h");
    std::fs::write(&all, names.iter().map(|name| format!("#include <culvert/{name}>\n")).collect::<String>()).unwrap();
    // What a program needs of Vulkan that has no crate for it.
    let vulkan = "PFN_vk(CreateInstance|DestroyInstance|CreateDevice|DestroyDevice|GetDeviceQueue|CreateCommandPool|\
                  DestroyCommandPool|AllocateCommandBuffers|BeginCommandBuffer|EndCommandBuffer|QueueWaitIdle)";
    let status = Command::new("bindgen")
        .arg(&all)
        .args(["--allowlist-function", "culv(ert)?_.*", "--allowlist-type", "culv_.*", "--allowlist-var", "CULV_.*"])
        .args(["--allowlist-type", vulkan])
        .args(["--default-enum-style", "consts", "--no-layout-tests", "--no-prepend-enum-name", "--no-doc-comments"])
        .arg("-o")
        .arg(out)
        .args(["--", "-DCULV_EXPERIMENTAL", &format!("-I{}", top.join("include").display()), &format!("-I{}", top.join("abi").display())])
        .status()
        .expect("bindgen is not installed (Debian: bindgen)");
    assert!(status.success(), "bindgen failed");
    println!("cargo:rerun-if-changed={}", headers.display());
}
