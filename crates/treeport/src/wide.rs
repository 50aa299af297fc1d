//! Loops for wide registers.

/// A function, and a copy of it for processors with wide registers: the same numbers in less time.
macro_rules! for_wide_registers {
    ($(#[$about:meta])* $name:ident, $wide:ident, ($($argument:ident: $type:ty),*) $(-> $out:ty)?,
     $body:block) => {
        $(#[$about])*
        pub(crate) fn $name($($argument: $type),*) $(-> $out)? {
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
            fn plain($($argument: $type),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn $wide($($argument: $type),*) $(-> $out)? {
                plain($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                #[expect(
                    unsafe_code,
                    reason = "a function for a newer processor may not run on an older one"
                )]
                // SAFETY: this processor was just asked whether it is new enough.
                return unsafe { $wide($($argument),*) };
            }
            plain($($argument),*)
        }
    };
}
pub(crate) use for_wide_registers;
