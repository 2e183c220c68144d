//! `lab_loops!`: from lines of assembly, loops that run a given number of turns.

/// Defines the loops of an architecture, and `ALL`, the list of them.
///
/// A loop is a function of the platform's calling convention: the number of turns in the first argument register, the scratch
/// memory in the second. `before` is executed once, `turn` again and again at an address that is a multiple of 64, `after` once.
macro_rules! lab_loops {
    ($(
        $symbol:ident {
            $name:literal, $description:literal,
            operations: $operations:literal,
            $(needs: $needs:expr,)?
            $(before: $before:expr,)?
            turn: $turn:expr,
            $(after: $after:expr,)?
        }
    )+) => {
        $(
            core::arch::global_asm!(
                ".pushsection .text.bandscope_lab,\"ax\",%progbits",
                ".p2align 6",
                concat!(".globl bandscope_lab_", stringify!($symbol)),
                concat!(".hidden bandscope_lab_", stringify!($symbol)),
                concat!("bandscope_lab_", stringify!($symbol), ":"),
                $($before,)?
                ".p2align 6",
                "22:",
                $turn,
                turn_again!(),
                $($after,)?
                "ret",
                concat!(".globl bandscope_lab_", stringify!($symbol), "_end"),
                concat!(".hidden bandscope_lab_", stringify!($symbol), "_end"),
                concat!("bandscope_lab_", stringify!($symbol), "_end:"),
                ".popsection",
            );
        )+

        mod ends {
            unsafe extern "C" {
                $(
                    #[link_name = concat!("bandscope_lab_", stringify!($symbol), "_end")]
                    pub static $symbol: u8;
                )+
            }
        }

        unsafe extern "C" {
            $(
                #[link_name = concat!("bandscope_lab_", stringify!($symbol))]
                fn $symbol(turns: u64, scratch: *mut crate::lab::loops::Scratch);
            )+
        }

        /// All of them.
        pub static ALL: &[crate::lab::loops::Loop] = &[$(
            crate::lab::loops::Loop {
                name: $name,
                description: $description,
                operations: $operations,
                supported: or_always!($($needs)?),
                code: $symbol,
                end: || &raw const ends::$symbol,
            },
        )+];
    };
}

/// What a loop needs, if it needs anything.
macro_rules! or_always {
    () => {
        || Ok(())
    };
    ($needs:expr) => {
        || $needs
    };
}
