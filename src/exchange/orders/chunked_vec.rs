//! A vector in chunks that never move: it grows without copying the whole, and without leaving
//! large holes in the heap, as one contiguous block would.

/// Elements of a full chunk.
const CHUNK: usize = 1024;
/// Initial capacity of the first chunk.
const FIRST_CAPACITY: usize = 64;

/// A growing list of elements, by index.
#[derive(Debug, Clone)]
pub struct ChunkedVec<T> {
    /// All full but the last.
    chunks: Vec<Vec<T>>,
}

impl<T> Default for ChunkedVec<T> {
    fn default() -> ChunkedVec<T> {
        ChunkedVec { chunks: Vec::new() }
    }
}

impl<T> ChunkedVec<T> {
    /// The number of elements.
    pub fn len(&self) -> usize {
        let full = self.chunks.len().saturating_sub(1).saturating_mul(CHUNK);
        full.saturating_add(self.chunks.last().map_or(0, Vec::len))
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        self.chunks.get_mut(index / CHUNK)?.get_mut(index % CHUNK)
    }

    /// Appends an element.
    pub fn push(&mut self, element: T) {
        if let Some(chunk) = self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            // The first chunk starts small, and a clone has no spare capacity.
            if chunk.len() == chunk.capacity() {
                chunk.reserve_exact(chunk.len().min(CHUNK.saturating_sub(chunk.len())));
            }
            chunk.push(element);
            return;
        }
        let mut chunk =
            Vec::with_capacity(if self.chunks.is_empty() { FIRST_CAPACITY } else { CHUNK });
        chunk.push(element);
        self.chunks.push(chunk);
    }

    /// All elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flatten()
    }
}

#[cfg(test)]
#[path = "../../../tests/unit/exchange/orders/chunked_vec.rs"]
mod tests;
