//! The wire format of protocol buffers, as far as a trace needs it: integers, doubles, and what has a length.
//!
//! A field is a key, `number << 3 | type`, and its value: a varint of seven bits a byte, lowest first (type 0), eight bytes (1), or a
//! length and so many bytes (2). <https://protobuf.dev/programming-guides/encoding/>

/// A message under way. Fields are appended, and their memory is kept from one message to the next by [`Message::clear`].
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// What was appended.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Forgets it, and keeps the memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// An unsigned integer, a bool or an enumeration.
    pub fn uint(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    /// A double.
    pub fn double(&mut self, field: u32, value: f64) {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Text.
    pub fn text(&mut self, field: u32, value: &str) {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value.as_bytes());
    }

    /// A message within this one. Its length is known when it is whole, and is then turned before it.
    pub fn message(&mut self, field: u32, build: &mut dyn FnMut(&mut Message)) {
        self.key(field, 2);
        let from = self.0.len();
        build(self);
        let length = self.0.len() - from;
        self.varint(length as u64);
        self.0[from..].rotate_left(length);
    }

    fn key(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the specification.
    #[test]
    fn fields_are_written_as_specified() {
        let mut message = Message::default();
        message.uint(1, 150);
        assert_eq!(message.as_bytes(), [0x08, 0x96, 0x01]);
        message.clear();
        message.text(2, "testing");
        assert_eq!(message.as_bytes(), b"\x12\x07testing");
        message.clear();
        message.message(3, &mut |inner| inner.uint(1, 150));
        assert_eq!(message.as_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        message.clear();
        message.double(2, 1.0);
        assert_eq!(message.as_bytes(), [0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]);
        message.clear();
        message.uint(126, u64::MAX);
        assert_eq!(message.as_bytes().len(), 2 + 10);
    }

    #[test]
    fn a_long_message_has_a_long_length() {
        let long = "x".repeat(300);
        let mut message = Message::default();
        message.uint(7, 1);
        message.message(1, &mut |outer| {
            outer.message(2, &mut |inner| inner.text(3, &long))
        });
        let bytes = message.as_bytes();
        assert_eq!(bytes[..2], [0x38, 1]);
        // 303 bytes of text with its key and length, 306 with the inner message's.
        assert_eq!(bytes[2..5], [0x0a, 0xb2, 0x02]);
        assert_eq!(bytes[5..8], [0x12, 0xaf, 0x02]);
        assert_eq!(bytes[8..11], [0x1a, 0xac, 0x02]);
        assert_eq!(bytes[11..], *long.as_bytes());
    }
}
