//! Chance that can be repeated: SplitMix64, and the few distributions that populations are made of.

/// Small, fast, and good enough for simulations; the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each `part`, so that nothing depends on the order in which parts are drawn.
    pub fn part(seed: u64, part: u64) -> Random {
        let mut random = Random(seed ^ part.wrapping_mul(0xD1B5_4A32_D192_ED03));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In (0, 1), never 0 or 1.
    pub fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    /// By Box and Muller; the second of the pair is not used.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// The values of the normal distribution at the middle of `count` equal shares of probability, rising.
pub fn normal_quantiles(count: usize) -> Vec<f64> {
    const STEP: f64 = 1e-3;
    let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    // Simpson's rule from far below; one walk serves all quantiles, for they rise.
    let (mut z, mut below) = (-9.0_f64, 0.0);
    let mut quantiles = Vec::with_capacity(count);
    for n in 0..count {
        let wanted = (n as f64 + 0.5) / count as f64;
        loop {
            let area =
                STEP / 6.0 * (density(z) + 4.0 * density(z + STEP / 2.0) + density(z + STEP));
            if below + area >= wanted || z > 9.0 {
                quantiles.push(z + STEP * ((wanted - below) / area).clamp(0.0, 1.0));
                break;
            }
            below += area;
            z += STEP;
        }
    }
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_gives_others() {
        let draw = |seed| (0..5).map(|_| Random::part(seed, 0).next()).collect::<Vec<_>>();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_ne!(Random::part(1, 1).next(), Random::part(1, 2).next());
    }

    #[test]
    fn the_moments_are_those_of_the_distributions() {
        let mut random = Random::part(7, 0);
        let draws = 100_000;
        let mean =
            |draw: &mut dyn FnMut() -> f64| (0..draws).map(|_| draw()).sum::<f64>() / draws as f64;
        assert!((mean(&mut || random.unit()) - 0.5).abs() < 0.01);
        assert!((mean(&mut || random.exponential()) - 1.0).abs() < 0.02);
        assert!(mean(&mut || random.normal()).abs() < 0.02);
        assert!((mean(&mut || random.normal().powi(2)) - 1.0).abs() < 0.03);
    }

    #[test]
    fn quantiles_of_the_normal_distribution_are_the_known_ones() {
        let quantiles = normal_quantiles(1_000);
        for (n, known) in [(499, -0.001_253), (24, -1.969_1), (974, 1.950_1), (0, -3.290_5)] {
            assert!((quantiles[n] - known).abs() < 0.01, "{n}: {}", quantiles[n]);
        }
    }
}
