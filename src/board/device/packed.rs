//! Kernel arguments as one buffer with natural alignment, as `extra` of both vendors' launches takes them. Refuses to know a kernel.

/// Arguments, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    /// The buffer.
    pub bytes: Vec<u8>,
    /// Bytes of each argument.
    pub sizes: Vec<usize>,
}

impl Packed {
    /// Appends an argument at its natural alignment.
    pub fn push(&mut self, value: &[u8], align: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
        self.bytes.extend_from_slice(value);
        self.sizes.push(value.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_lie_at_their_natural_alignment() {
        let mut packed = Packed::default();
        packed.push(&1.0f32.to_ne_bytes(), 4);
        packed.push(&7u64.to_ne_bytes(), 8);
        packed.push(&3i32.to_ne_bytes(), 4);
        assert_eq!((packed.bytes.len(), packed.sizes), (20, vec![4, 8, 4]));
        assert_eq!(packed.bytes[8..16], 7u64.to_ne_bytes());
    }
}
