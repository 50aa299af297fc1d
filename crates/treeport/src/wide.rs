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

/// As [`for_wide_registers`], with a third copy for registers twice as wide, where `FUSED` says whether the processor multiplies and adds in one step
/// ([`multiply_add`]), and `WIDEST` whether this is that copy, whose bits are those of the second. The last bits depend on the processor, so this is for bounds alone (and for what approximate searches
/// give in place of distances, which are bounds), which take off a rounding for each of the two.
macro_rules! for_fused_registers {
    ($(#[$about:meta])* $name:ident, $fused:ident, $widest:ident, ($($argument:ident: $type:ty),* $(,)?) -> $out:ty,
     $body:block) => {
        $(#[$about])*
        pub(crate) fn $name($($argument: $type),*) -> $out {
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
            fn plain<const FUSED: bool, const WIDEST: bool>($($argument: $type),*) -> $out $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn $fused($($argument: $type),*) -> $out {
                plain::<true, false>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            fn $widest($($argument: $type),*) -> $out {
                plain::<true, true>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx512f") {
                #[expect(
                    unsafe_code,
                    reason = "a function for a newer processor may not run on an older one"
                )]
                // SAFETY: this processor was just asked whether it is new enough.
                return unsafe { $widest($($argument),*) };
            }
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("fma")
            {
                #[expect(
                    unsafe_code,
                    reason = "a function for a newer processor may not run on an older one"
                )]
                // SAFETY: this processor was just asked whether it is new enough.
                return unsafe { $fused($($argument),*) };
            }
            plain::<false, false>($($argument),*)
        }
    };
}
pub(crate) use for_fused_registers;

/// a·b + c, rounded once where that is one step of the processor, else twice.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
pub(crate) fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
