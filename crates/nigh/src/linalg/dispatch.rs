//! One source, three instruction sets, chosen at run time: no `target-cpu=native` needed.

/// Compiles a function for AVX-512, AVX2 and the baseline, and calls the best that this machine has.
///
/// Nothing here contracts `a * b + c` into one rounding, so all versions give the same bits.
macro_rules! simd {
    ($(#[$about:meta])* $visibility:vis fn $name:ident($($argument:ident: $Type:ty),* $(,)?) $(-> $Result:ty)? $body:block) => {
        $(#[$about])*
        #[allow(clippy::too_many_arguments)]
        $visibility fn $name($($argument: $Type),*) $(-> $Result)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn portable($($argument: $Type),*) $(-> $Result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2")]
                #[allow(clippy::too_many_arguments)]
                fn avx512($($argument: $Type),*) $(-> $Result)? { portable($($argument),*) }

                #[target_feature(enable = "avx2")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($argument: $Type),*) $(-> $Result)? { portable($($argument),*) }

                if std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512vl")
                    && std::is_x86_feature_detected!("avx512dq")
                    && std::is_x86_feature_detected!("avx512bw")
                {
                    // SAFETY: the features that the function was compiled for have just been found.
                    return unsafe { avx512($($argument),*) };
                }
                if std::is_x86_feature_detected!("avx2") {
                    // SAFETY: as above.
                    return unsafe { avx2($($argument),*) };
                }
            }
            portable($($argument),*)
        }
    };
}
pub(crate) use simd;
