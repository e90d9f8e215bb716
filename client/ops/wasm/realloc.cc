// The canonical ABI's allocator, which the adapter that makes a component of the command asks for
// its own state. Without it the adapter adds memory by itself, which the C library's first malloc
// then takes for its heap.
#include <cstddef>
#include <cstdlib>

// Gives `size` bytes with the old block's contents; `align` is at most malloc's own alignment.
extern "C" __attribute__((export_name("cabi_realloc"))) void* CabiRealloc(void* old,
                                                                          size_t /*old_size*/,
                                                                          size_t align,
                                                                          size_t size) {
  // Of no bytes, any aligned pointer.
  if (size == 0) return reinterpret_cast<void*>(align);
  void* block = std::realloc(old, size);
  if (block == nullptr) std::abort();
  return block;
}
