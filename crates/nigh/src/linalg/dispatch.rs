//! One source, three instruction-set levels, chosen at run time: no `target-cpu=native` needed.
//!
//! A level is detected once per process. Kernels written with [`simd!`] give the same bits at every level, because nothing in
//! them contracts `a * b + c` into one rounding. Code for x86 is left out on other machines and under `--cfg nigh_portable`.

use std::sync::OnceLock;

/// The features that a level needs, stated here and nowhere else: passes them to another macro.
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
macro_rules! features_of {
    (Avx2 => $next:ident $($rest:tt)*) => {
        $crate::linalg::dispatch::$next! { ["avx2" "fma" "f16c"] $($rest)* }
    };
    (Avx512 => $next:ident $($rest:tt)*) => {
        $crate::linalg::dispatch::$next! {
            ["avx512f" "avx512vl" "avx512dq" "avx512bw" "avx2" "fma" "f16c"] $($rest)*
        }
    };
}
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
pub(crate) use features_of;

/// Whether this machine has all of the features.
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
macro_rules! detected {
    ([$($feature:tt)+]) => { true $(&& std::is_x86_feature_detected!($feature))+ };
}
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
pub(crate) use detected;

/// Compiles a function for the features.
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
macro_rules! enabled {
    ([$($feature:tt)+] $function:item) => { #[target_feature($(enable = $feature),+)] $function };
}
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
pub(crate) use enabled;

/// An instruction-set level that this machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    #[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
    Avx512(Avx512),
    #[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
    Avx2(Avx2),
    Portable(Portable),
}

/// What every machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Portable;

/// Proof that this machine has AVX2, FMA and F16C: only detection makes one.
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

/// Proof that this machine has AVX-512 F, VL, DQ and BW, and all of [`Avx2`]: only detection makes one.
#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx512(());

#[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
impl Avx512 {
    /// The lower level, which this one includes.
    #[inline(always)]
    pub fn avx2(self) -> Avx2 {
        Avx2(())
    }
}

impl Level {
    /// The levels of this machine, the best first.
    pub fn available() -> impl Iterator<Item = Level> {
        #[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
        let vectors = [
            features_of!(Avx512 => detected).then_some(Level::Avx512(Avx512(()))),
            features_of!(Avx2 => detected).then_some(Level::Avx2(Avx2(()))),
        ];
        #[cfg(not(all(target_arch = "x86_64", not(nigh_portable))))]
        let vectors = [None, None];
        vectors.into_iter().flatten().chain([Level::Portable(Portable)])
    }

    /// The level that kernels run at: the best of this machine.
    #[inline(always)]
    pub fn current() -> Level {
        #[cfg(test)]
        if let Some(level) = testing::forced() {
            return level;
        }
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| Level::available().next().unwrap_or(Level::Portable(Portable)))
    }
}

/// A `match` on a level, without the arms that this machine's architecture can't reach.
macro_rules! by_level {
    ($level:expr, Avx512($avx512:pat) => $first:expr, Avx2($avx2:pat) => $second:expr, Portable => $last:expr $(,)?) => {
        match $level {
            #[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
            $crate::linalg::dispatch::Level::Avx512($avx512) => $first,
            #[cfg(all(target_arch = "x86_64", not(nigh_portable)))]
            $crate::linalg::dispatch::Level::Avx2($avx2) => $second,
            $crate::linalg::dispatch::Level::Portable(_) => $last,
        }
    };
}
pub(crate) use by_level;

/// Compiles a function for every level and calls the version for [`Level::current`].
///
/// `fn kernel[token: Trait](...)` also hands the body the proof of the level, a type that implements `Trait`.
macro_rules! simd {
    (
        $(#[$about:meta])*
        $visibility:vis fn $name:ident $(<$($G:ident: $Bound:path),+>)? [$token:ident: $Trait:path]
        ($($argument:ident: $Type:ty),* $(,)?) $(-> $Result:ty)? $body:block
    ) => {
        $(#[$about])*
        #[allow(clippy::too_many_arguments)]
        $visibility fn $name $(<$($G: $Bound),+>)? ($($argument: $Type),*) $(-> $Result)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            fn portable $(<$($G: $Bound),+>)? ($token: impl $Trait, $($argument: $Type),*) $(-> $Result)? $body

            $crate::linalg::dispatch::by_level! {
                $crate::linalg::dispatch::Level::current(),
                Avx512(token) => {
                    $crate::linalg::dispatch::features_of! { Avx512 => enabled
                        #[allow(clippy::too_many_arguments)]
                        fn compiled $(<$($G: $Bound),+>)? (
                            token: $crate::linalg::dispatch::Avx512, $($argument: $Type),*
                        ) $(-> $Result)? {
                            portable(token, $($argument),*)
                        }
                    }
                    // SAFETY: the token proves that the machine has the features.
                    unsafe { compiled(token, $($argument),*) }
                },
                Avx2(token) => {
                    $crate::linalg::dispatch::features_of! { Avx2 => enabled
                        #[allow(clippy::too_many_arguments)]
                        fn compiled $(<$($G: $Bound),+>)? (
                            token: $crate::linalg::dispatch::Avx2, $($argument: $Type),*
                        ) $(-> $Result)? {
                            portable(token, $($argument),*)
                        }
                    }
                    // SAFETY: the token proves that the machine has the features.
                    unsafe { compiled(token, $($argument),*) }
                },
                Portable => portable($crate::linalg::dispatch::Portable, $($argument),*),
            }
        }
    };
    (
        $(#[$about:meta])*
        $visibility:vis fn $name:ident $(<$($G:ident: $Bound:path),+>)? ($($argument:ident: $Type:ty),* $(,)?)
        $(-> $Result:ty)? $body:block
    ) => {
        $crate::linalg::dispatch::simd! {
            $(#[$about])*
            $visibility fn $name $(<$($G: $Bound),+>)? [_token: Copy] ($($argument: $Type),*) $(-> $Result)? $body
        }
    };
}
pub(crate) use simd;

#[cfg(test)]
pub(crate) mod testing {
    use super::Level;
    use crate::linalg::Matrix;
    use std::cell::Cell;

    thread_local! {
        static FORCED: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// The level that tests force on this thread.
    pub(super) fn forced() -> Option<Level> {
        FORCED.get()
    }

    /// What `run` gives at every level of this machine, on threads of their own that use no other.
    pub(crate) fn at_every_level<T: Send>(run: impl Fn() -> T + Sync) -> Vec<(Level, T)> {
        let at = |level: Level| {
            let threads = rayon::ThreadPoolBuilder::new().num_threads(2);
            let pool = threads.start_handler(move |_| FORCED.set(Some(level))).build().unwrap();
            (level, pool.install(&run))
        };
        Level::available().map(at).collect()
    }

    /// Fails unless `run` gives the same bits at every level of this machine.
    pub(crate) fn assert_same_bits_at_every_level<T: Bits + Send>(run: impl Fn() -> T + Sync) {
        let found = at_every_level(|| {
            let mut bits = Vec::new();
            run().append_to(&mut bits);
            bits
        });
        let (portable, expected) = found.last().expect("the portable level");
        for (level, bits) in &found {
            assert_eq!(bits.len(), expected.len());
            let differs = bits.iter().zip(expected).position(|(a, b)| a != b);
            assert_eq!(differs, None, "{level:?} and {portable:?} differ first at this place");
        }
    }

    /// A result that can be compared bit by bit.
    pub(crate) trait Bits {
        fn append_to(&self, bits: &mut Vec<u64>);
    }

    impl Bits for f32 {
        fn append_to(&self, bits: &mut Vec<u64>) {
            bits.push(self.to_bits().into());
        }
    }

    impl Bits for f64 {
        fn append_to(&self, bits: &mut Vec<u64>) {
            bits.push(self.to_bits());
        }
    }

    impl Bits for u32 {
        fn append_to(&self, bits: &mut Vec<u64>) {
            bits.push(u64::from(*self));
        }
    }

    impl<T: Bits> Bits for [T] {
        fn append_to(&self, bits: &mut Vec<u64>) {
            self.iter().for_each(|entry| entry.append_to(bits));
        }
    }

    impl<T: Bits> Bits for Vec<T> {
        fn append_to(&self, bits: &mut Vec<u64>) {
            self[..].append_to(bits);
        }
    }

    impl Bits for Matrix {
        fn append_to(&self, bits: &mut Vec<u64>) {
            self.data().append_to(bits);
        }
    }

    impl<A: Bits, B: Bits> Bits for (A, B) {
        fn append_to(&self, bits: &mut Vec<u64>) {
            self.0.append_to(bits);
            self.1.append_to(bits);
        }
    }

    #[test]
    fn every_thread_of_a_forced_level_uses_it_and_no_other_thread_does() {
        for (level, found) in at_every_level(|| rayon::join(Level::current, Level::current)) {
            assert_eq!(found, (level, level));
        }
        assert_eq!(Some(Level::current()), Level::available().next());
    }
}
