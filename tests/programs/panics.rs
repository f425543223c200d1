// SPDX-License-Identifier: MIT
// Panics that are caught, at several depths, and threads.
use std::collections::BTreeMap;
use std::panic;
fn deep(n: u32) -> String {
    if n == 0 {
        panic!("bottom")
    } else {
        let s = format!("{n}");
        deep(n - 1) + &s
    }
}
fn main() {
    panic::set_hook(Box::new(|_| {}));
    let mut m: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut caught = 0;
    for i in 0..20000u32 {
        m.entry(i % 500).or_default().push(format!("value {i}"));
        if i % 20 == 0 && panic::catch_unwind(|| deep(i % 17)).is_err() {
            caught += 1;
        }
    }
    let t: Vec<_> = (0..4)
        .map(|k| {
            std::thread::spawn(move || (0..5000).map(|x| format!("{}", x * k).len()).sum::<usize>())
        })
        .collect();
    let s: usize = t.into_iter().map(|h| h.join().unwrap()).sum();
    println!("{} {} {}", m.len(), caught, s);
}
