// SPDX-License-Identifier: MIT
//! Makes src/lib.rs's declarations of Culvert's headers: every type, constant and function, by bindgen
//! (Debian: bindgen). They depend on the version of bindgen and on that of Vulkan's headers.
use std::path::Path;
use std::process::Command;

fn main() {
    let variable = |name| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}; without it, do so"));
    let (crate_dir, out) = (variable("CARGO_MANIFEST_DIR"), variable("OUT_DIR"));
    let top = Path::new(&crate_dir).join("../..");
    let headers = top.join("include/culvert");
    let mut names: Vec<String> = std::fs::read_dir(&headers)
        .expect("include/culvert")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".h") && name != "cudart.h") // which needs the CUDA runtime's
        .collect();
    names.sort();
    let all = Path::new(&out).join("all.h");
    std::fs::write(&all, names.iter().map(|name| format!("#include <culvert/{name}>\n")).collect::<String>()).unwrap();
    let status = Command::new("bindgen")
        .arg(&all)
        .args(["--allowlist-function", "culv(ert)?_.*", "--allowlist-type", "culv_.*", "--allowlist-var", "CULV_.*"])
        .args(["--default-enum-style", "consts", "--no-layout-tests", "--no-prepend-enum-name", "--no-doc-comments"])
        .arg("-o")
        .arg(Path::new(&out).join("declarations.rs"))
        .args(["--", "-DCULV_EXPERIMENTAL", &format!("-I{}", top.join("include").display()), &format!("-I{}", top.join("abi").display())])
        .status()
        .expect("bindgen is not installed (Debian: bindgen)");
    assert!(status.success(), "bindgen failed");
    println!("cargo:rerun-if-changed={}", headers.display());
    println!("cargo:rustc-link-lib=culvert");
}
