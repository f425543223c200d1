// SPDX-License-Identifier: MIT
// Functions whose memory is allocated by Rust's standard library.  Each leaks
// bytes of its own; the truth is what each is to have leaked.
use std::fmt;
use std::io::Write;
use std::os::unix::io::FromRawFd;

struct Loud;

impl fmt::Display for Loud {
    #[inline(never)]
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        leak(vec![4u8; 3001]);
        f.write_str("loud")
    }
}

// What is read for sure, no compiler leaves out.
fn leak<T>(value: Vec<T>) {
    unsafe { std::ptr::read_volatile(value.as_ptr()) };
    std::mem::forget(value)
}

#[inline(never)]
fn cache(n: usize) {
    leak(vec![0u8; n])
}

#[inline(never)]
fn index(n: usize) {
    leak(vec![7u32; n])
}

#[inline(never)]
fn repeat(text: &str) {
    leak(text.repeat(500).into_bytes())
}

#[inline(never)]
fn copy(text: &[u16]) {
    leak(text.to_vec())
}

fn main() {
    cache(1001);
    index(501);
    repeat("four");
    copy(&[1; 700]);
    println!("{}", Loud);
    let mut truth = unsafe { std::fs::File::from_raw_fd(3) };
    let text = b"{\"cache\": 1001, \"index\": 2004, \"repeat\": 2000, \"copy\": 1400, \"fmt\": 3001}";
    truth.write_all(text).unwrap();
}
