//! Copies of loops for processors with wide registers (AVX2, FMA, AVX-512).

/// Returns the value of a call to a function for newer processors if this one has its features.
macro_rules! return_if_detected {
    ($($feature:tt),+ => $call:expr) => {
        #[cfg(target_arch = "x86_64")]
        if $(std::arch::is_x86_feature_detected!($feature))&&+ {
            #[expect(
                unsafe_code,
                reason = "a function for a newer processor may not run on an older one"
            )]
            // SAFETY: the check above found that this processor has all features of the function.
            return unsafe { $call };
        }
    };
}
pub(crate) use return_if_detected;

/// Defines a function and a copy of it for AVX2, with bitwise equal results.
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

            $crate::numeric::wide_registers::return_if_detected!(
                "avx2" => $wide($($argument),*)
            );
            plain($($argument),*)
        }
    };
}
pub(crate) use for_wide_registers;

/// Defines a function with two more copies, for AVX2 with FMA and for AVX-512. `FUSED` tells the
/// body whether the processor multiplies and adds in one step ([`multiply_add`]), `WIDEST` whether
/// this is the AVX-512 copy.
///
/// Both copies return the same bits; the last ones differ from those of the plain function. The
/// macro is therefore only for bounds (and for approximate searches, whose distances are bounds);
/// bounds allow for one rounding each of product and sum.
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

            $crate::numeric::wide_registers::return_if_detected!(
                "avx512f" => $widest($($argument),*)
            );
            $crate::numeric::wide_registers::return_if_detected!(
                "avx2", "fma" => $fused($($argument),*)
            );
            plain::<false, false>($($argument),*)
        }
    };
}
pub(crate) use for_fused_registers;

/// Computes a·b + c, rounded once if the processor fuses the two steps, else twice.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
pub(crate) fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
