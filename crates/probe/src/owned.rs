//! Memory of our own that others point to: the kernel, or a raw pointer beside it.
//!
//! A `Box` may not be pointed into while it is moved: the compiler may take it for the only way to its
//! content. This holds a raw pointer instead, from the start.

use std::ptr::NonNull;

/// A value at a fixed address, freed when this is dropped.
#[derive(Debug)]
pub struct Owned<T>(NonNull<T>);

impl<T> Owned<T> {
    /// Puts `value` where it will stay.
    pub fn new(value: T) -> Owned<T> {
        Owned(NonNull::from(Box::leak(Box::new(value))))
    }

    /// Its address, valid until this is dropped.
    pub fn pointer(&self) -> NonNull<T> {
        self.0
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: it came out of a box in `new`, which nothing else frees.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_stays_where_it_is_and_is_dropped_once() {
        let value = std::rc::Rc::new(7);
        let owned = Owned::new(value.clone());
        let before = owned.pointer();
        let moved = Box::new(owned);
        assert_eq!(moved.pointer(), before);
        assert_eq!(std::rc::Rc::strong_count(&value), 2);
        drop(moved);
        assert_eq!(std::rc::Rc::strong_count(&value), 1);
    }
}
