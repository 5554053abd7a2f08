// The hooks of instrumented code, one access each. What nearly every access is, is decided here without a call: allowed, in
// the region that was hit last, and nothing earlier can race with it. The executor looks at the rest, and it alone reports.
#pragma once

extern "C" {
// Last accesses of the bytes of a cell; words whose meaning is the executor's.
struct AssayCell {
    uint64_t write, read;
};
// What the executor shows of the region that was hit last, and of the running lane.
struct AssayWatch {
    uint64_t start, bytes;
    uint8_t* states;  // one a byte, then enough that allow nothing for the widest access
    AssayCell* cells;
    uint64_t cell_bytes;
    uint64_t now;                     // the word of the running lane
    uint64_t past;                    // words below it cannot race with anything
    uint64_t rivals;                  // bits in which a word differs from `now` unless it is the lane's own
    uint64_t block_mask, block_pair;  // two readers, whom a third one adds nothing to: a word of the block,
    uint64_t wave_mask, wave_pair;    // and one of the wave
};
// The executor's own look at an access, and where the access stands.
typedef void (*AssayHook)(const void* address, uint64_t unused, void* pc);
struct AssayRuntime {
    void (*waits[4])();
    AssayHook reads[5], writes[5];
};
extern __attribute__((visibility("protected"))) AssayRuntime assay_runtime;
}

namespace assay {
static AssayWatch watch;

enum : uint64_t { KNOWN = 1, WRITABLE = 2, DEFINED = 4 };

// What the states of N bytes have in common, and what any of them has.
template <unsigned N>
struct States {
    using Word = std::conditional_t<N == 1, uint8_t, std::conditional_t<N == 2, uint16_t, std::conditional_t<N == 4, uint32_t, uint64_t>>>;
    static constexpr unsigned count = N == 16 ? 2 : 1;
    Word words[count];

    static constexpr Word each(uint64_t bits) { return static_cast<Word>(0x0101010101010101 * bits); }
    inline __attribute__((always_inline)) ASSAY_QUIET explicit States(const uint8_t* at) { __builtin_memcpy(words, at, N); }
    inline __attribute__((always_inline)) ASSAY_QUIET bool all(uint64_t bits) const {
        return (words[0] & words[count - 1] & each(bits)) == each(bits);
    }
    inline __attribute__((always_inline)) ASSAY_QUIET bool any(uint64_t bits) const {
        return ((words[0] | words[count - 1]) & each(bits)) != 0;
    }
    inline __attribute__((always_inline)) ASSAY_QUIET void define(uint8_t* at) {
        for (Word& w : words) w |= each(DEFINED);
        __builtin_memcpy(at, words, N);
    }
};

// Enters an access into its cell; false where it takes a closer look.
template <bool write>
inline __attribute__((always_inline)) ASSAY_QUIET bool enter(AssayCell& cell) {
    if (__builtin_expect(cell.write >= watch.past || cell.read >= watch.past, 0)) {
        const auto free = [](uint64_t then) ASSAY_QUIET { return then < watch.past || ((then ^ watch.now) & watch.rivals) == 0; };
        if (!free(cell.write)) return false;
        if (!free(cell.read)) {
            const uint64_t differs = cell.read ^ watch.now;
            return !write && ((differs & watch.block_mask) == watch.block_pair || (differs & watch.wave_mask) == watch.wave_pair);
        }
    }
    (write ? cell.write : cell.read) = watch.now;
    return true;
}

// The whole look, with nothing done that the closer one would not do as well.
template <unsigned N, bool write>
inline __attribute__((always_inline)) ASSAY_QUIET bool settled(const void* address) {
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - watch.start;
    if (__builtin_expect(offset >= watch.bytes, 0)) return false;
    States<N> states(watch.states + offset);
    if (__builtin_expect(!states.all(write ? WRITABLE : KNOWN | DEFINED), 0)) return false;
    // What nobody may write cannot race.
    if (!write && !states.any(WRITABLE)) return true;
    constexpr unsigned cell = N < 4 ? N : 4;
    if (__builtin_expect(watch.cell_bytes != cell || offset % cell != 0, 0)) return false;
    if (write && __builtin_expect(!states.all(DEFINED), 0)) states.define(watch.states + offset);
    for (unsigned i = 0; i < N / cell; ++i)
        if (!enter<write>(watch.cells[offset / cell + i])) return false;
    return true;
}
}  // namespace assay

#define ASSAY_HOOK(name, N, write, hook)                                                  \
    extern "C" __attribute__((visibility("hidden"))) ASSAY_QUIET void name(void* p) {     \
        if (__builtin_expect(!assay::settled<N, write>(p), 0))                            \
            assay_runtime.hook(p, 0, __builtin_return_address(0));                        \
    }
ASSAY_HOOK(__tsan_read1, 1, false, reads[0])
ASSAY_HOOK(__tsan_read2, 2, false, reads[1])
ASSAY_HOOK(__tsan_read4, 4, false, reads[2])
ASSAY_HOOK(__tsan_read8, 8, false, reads[3])
ASSAY_HOOK(__tsan_read16, 16, false, reads[4])
ASSAY_HOOK(__tsan_write1, 1, true, writes[0])
ASSAY_HOOK(__tsan_write2, 2, true, writes[1])
ASSAY_HOOK(__tsan_write4, 4, true, writes[2])
ASSAY_HOOK(__tsan_write8, 8, true, writes[3])
ASSAY_HOOK(__tsan_write16, 16, true, writes[4])
#undef ASSAY_HOOK
