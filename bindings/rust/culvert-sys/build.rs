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

/// What the `_init()` functions of a header set, which bindgen does not translate: sizes and constants.
fn defaults(header: &str, name: &str) -> String {
    let mut made = String::new();
    let mut implement = |t: &str, sets: &[(&str, &str)]| {
        made += &format!("impl Described for {t} {{\n    fn described() -> Self {{\n");
        let changes = if sets.is_empty() { "" } else { "mut " };
        made += &format!("        let {changes}made: Self = unsafe {{ std::mem::zeroed() }};\n");
        for (field, value) in sets {
            let value = match *value {
                "CULV_VK_QUEUE_FAMILY_UNSET" => "!3u32".into(), // bindgen leaves out macros that are no plain number
                "CULV_VK_SPACE_ANYWHERE" => "u64::MAX".into(),
                value if value.starts_with("sizeof ") => match value.split_once('.') {
                    Some((_, part)) => format!("std::mem::size_of_val(&made.{part})"),
                    None => "std::mem::size_of::<Self>()".into(),
                },
                value => value.to_string(),
            };
            made += &format!("        made.{field} = {value} as _;\n");
        }
        made += "        made\n    }\n}\n";
    };
    for line in header.lines() {
        if let Some(t) = line.strip_prefix("CULV_INIT(").and_then(|rest| rest.strip_suffix(')')) {
            implement(t, &[("struct_size", "sizeof empty")]);
        }
    }
    for function in header.split("\nCULV_INLINE ").skip(1) {
        let t = function.split(' ').next().unwrap();
        if !function.starts_with(&format!("{t} {t}_init(void)")) {
            continue;
        }
        let mut sets = Vec::new();
        for line in function[..function.find("\n}").expect(t)].lines().skip(2).map(str::trim) {
            match line.strip_suffix(';').and_then(|l| l.split_once(" = ")) {
                Some((left, right)) => sets.push((left.split_once('.').expect(line).1, right)),
                None if ["memset(", "return ", t].iter().any(|known| line.starts_with(known)) => {}
                None => panic!("{name}: {t}_init() has a line that is not understood here: {line}"),
            }
        }
        implement(t, &sets);
    }
    made
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
        .args(["--", "-DCULV_EXPERIMENTAL", &format!("-I{}", top.join("include").display()), &format!("-I{}", top.join("cuda_headers").display())])
        .status()
        .expect("bindgen is not installed (Debian: bindgen)");
    assert!(status.success(), "bindgen failed");
    let mut text = std::fs::read_to_string(out).unwrap();
    for name in &names {
        text += &defaults(&std::fs::read_to_string(headers.join(name)).unwrap(), name);
    }
    std::fs::write(out, text).unwrap();
    println!("cargo:rerun-if-changed={}", headers.display());
}
