use super::*;
use iced_x86::{Decoder, DecoderOptions};

const BEGIN: u64 = 0x40_1000;

/// `add rax, 1`, an exit, `sub rcx, 1`, and `jne` to the beginning, as written elsewhere.
fn written_again(exit: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let back = -(4 + exit.len() as i8 + 4 + 2);
    let code = [
        &[0x48, 0x83, 0xc0, 0x01],
        exit,
        &[0x48, 0x83, 0xe9, 0x01, 0x75, back as u8],
    ]
    .concat();
    let decoder = Decoder::with_ip(64, &code, BEGIN, DecoderOptions::NONE);
    let part = Part {
        instructions: decoder.into_iter().collect(),
        range: BEGIN..BEGIN + code.len() as u64,
    };
    let plan = Blueprint {
        parts: vec![part],
        head: BEGIN,
        counter: Counter::Stride(Register::RCX, -1),
        // SAFETY: it holds numbers alone.
        registers: unsafe { std::mem::zeroed() },
        cells: Vec::new(),
        drifts: false,
        data: 0x50_0000,
        sets_vectors: false,
    };
    let encoded = plan.encode(0x60_0000, 0, &Edits::new()).unwrap();
    assert_eq!(encoded.pieces[0].0, 0x60_0000);
    (code, encoded.pieces[0].1.clone())
}

#[test]
fn exits_stay_as_long_as_they_are() {
    let short = [0x74, 0x40];
    let near = [0x0f, 0x84, 0x00, 0x10, 0x00, 0x00];
    for exit in [&short[..], &near] {
        let (code, again) = written_again(exit);
        let behind = 4 + exit.len();
        assert_eq!(again[..4], code[..4]);
        assert_eq!(again[behind..code.len()], code[behind..]);
    }
}
