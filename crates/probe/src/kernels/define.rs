//! `work_kernel!`: from one text of assembly, a type that runs it inlined, its twin and its copies.

/// Defines a work kernel.
///
/// `body` is the text of a unit; it may use `2:` to `7:` as local labels (on a line of their own before a `.rept`: the assembler does not
/// see one behind a label when it looks for the end of the copies' own `.rept`), the registers that `registers`
/// declares, and on x86-64 the 64 bytes below the stack pointer, which no one else uses because the
/// assembly is not marked `nostack`.
macro_rules! work_kernel {
    (
        $(#[$doc:meta])*
        $type:ident, symbol: $symbol:ident,
        info: $info:expr,
        needs: $needs:expr,
        body: $body:expr,
        state: { $($field:ident : $kind:ty = $initial:expr),* $(,)? },
        registers: |$this:ident| { $($registers:tt)* },
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $type {
            $($field: $kind,)*
        }

        impl Default for $type {
            fn default() -> $type {
                $type { $($field: $initial,)* }
            }
        }

        core::arch::global_asm!(
            ".pushsection .text.bandscope_kernels,\"ax\",%progbits",
            ".p2align 6",
            concat!(".globl bandscope_", stringify!($symbol), "_start"),
            concat!(".hidden bandscope_", stringify!($symbol), "_start"),
            concat!(".globl bandscope_", stringify!($symbol), "_end"),
            concat!(".hidden bandscope_", stringify!($symbol), "_end"),
            concat!("bandscope_", stringify!($symbol), "_start:"),
            $body,
            concat!("bandscope_", stringify!($symbol), "_end:"),
            "ret",
            // The table of offsets is read as 32-bit numbers.
            ".pushsection .rodata.bandscope_kernels,\"a\",%progbits",
            ".p2align 2",
            ".popsection",
            ".set bandscope_placement, 0",
            concat!(".rept ", placements!()),
            concat!(".p2align ", placement_alignment!()),
            ".skip bandscope_placement",
            "9:",
            ".pushsection .rodata.bandscope_kernels,\"a\",%progbits",
            concat!(".long 9b - bandscope_", stringify!($symbol), "_start"),
            ".popsection",
            $body,
            "ret",
            concat!(".set bandscope_placement, bandscope_placement + ", placement_step!()),
            ".endr",
            ".popsection",
            ".pushsection .rodata.bandscope_kernels,\"a\",%progbits",
            concat!(".globl bandscope_", stringify!($symbol), "_copies"),
            concat!(".hidden bandscope_", stringify!($symbol), "_copies"),
            concat!("bandscope_", stringify!($symbol), "_copies = . - 4 * ", placements!()),
            ".popsection",
        );

        impl bandscope_sampler::WorkKernel for $type {
            #[inline(always)]
            fn execute(&mut self) {
                let $this = self;
                // SAFETY: the text touches no memory but the bytes below the stack pointer that are
                // free to it, and declares every register; the padding is executed as no-operations.
                unsafe {
                    core::arch::asm!(".p2align 6", $body, $($registers)*);
                }
            }
        }

        impl crate::kernels::NativeKernel for $type {
            const INFO: crate::kernels::Info = $info;

            fn twin() -> crate::kernels::Twin {
                unsafe extern "C" {
                    #[link_name = concat!("bandscope_", stringify!($symbol), "_start")]
                    static START: u8;
                    #[link_name = concat!("bandscope_", stringify!($symbol), "_end")]
                    static END: u8;
                    #[link_name = concat!("bandscope_", stringify!($symbol), "_copies")]
                    static COPIES: u32;
                }
                // SAFETY: the labels and the table are those of the assembly above.
                unsafe {
                    crate::kernels::Twin::new(&raw const START, &raw const END, &raw const COPIES)
                }
            }

            fn execute_copy(&mut self, index: usize) {
                let copy = Self::twin().copy(index);
                let $this = self;
                call_copy!(copy, $($registers)*);
            }

            fn supported() -> Result<(), &'static str> {
                $needs
            }
        }
    };
}

/// Number of copies; [`super::PLACEMENTS`] as text.
macro_rules! placements {
    () => {
        "64"
    };
}

/// The one list of an architecture's work kernels.
macro_rules! kernel_list {
    (default $default:ident, short $short:ident, $($type:ident),+) => {
        /// The work kernel that is used unless another is asked for.
        pub const DEFAULT: &str = <$default as NativeKernel>::INFO.name;
        /// The one for quanta in which the default fits too few times.
        pub const SHORT: &str = <$short as NativeKernel>::INFO.name;

        /// All of them, in the order in which they are shown.
        pub const ALL: &[Info] = &[$(<$type as NativeKernel>::INFO),+];

        /// Calls `visitor` with the type of that name.
        pub fn dispatch<V: Visitor>(name: &str, visitor: V) -> Option<V::Output> {
            $(
                if name == <$type as NativeKernel>::INFO.name {
                    return Some(visitor.visit::<$type>());
                }
            )+
            None
        }
    };
}
