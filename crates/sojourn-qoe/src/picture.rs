//! SSIM and mean squared error of two luma pictures.
//!
//! Structural similarity after Wang, Bovik, Sheikh, Simoncelli (IEEE Trans. Image Processing 13(4), 2004) in the form
//! that encoders and FFmpeg's `ssim` filter use: windows of 8×8 pixels every 4 pixels, plain instead of Gaussian
//! weights, unbiased variances, the mean over windows. Sums are integers and the mean is taken in a fixed order, so
//! that the result does not depend on the machine.
//!
//! Differs from the paper: no Gaussian window (about 0.0005 on undamaged pictures). Rows and columns beyond a multiple
//! of 4 are left out.

const PIXELS: f64 = 64.0;
const C1: f64 = 0.01 * 255.0 * 0.01 * 255.0;
const C2: f64 = 0.03 * 255.0 * 0.03 * 255.0;

/// How far one picture is from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean structural similarity; 1 for equal pictures.
    pub ssim: f64,
    /// Mean squared error.
    pub mse: f64,
}

/// Sums over a block or window of both pictures.
#[derive(Clone, Copy, Default)]
struct Sums {
    a: u32,
    b: u32,
    squares: u32,
    product: u32,
}

impl Sums {
    fn of_block(a: [&[u8]; 4], b: [&[u8]; 4], x: usize) -> Self {
        let mut sums = Self::default();
        for (a, b) in a.into_iter().zip(b) {
            for (a, b) in a[x..x + 4].iter().zip(&b[x..x + 4]) {
                let (a, b) = (u32::from(*a), u32::from(*b));
                sums.a += a;
                sums.b += b;
                sums.squares += a * a + b * b;
                sums.product += a * b;
            }
        }
        sums
    }

    fn and(self, other: Self) -> Self {
        Self {
            a: self.a + other.a,
            b: self.b + other.b,
            squares: self.squares + other.squares,
            product: self.product + other.product,
        }
    }

    /// SSIM of a window of 64 pixels: means are sums / 64, variances (squares − sum² / 64) / 63.
    fn ssim(self) -> f64 {
        let (a, b) = (f64::from(self.a), f64::from(self.b));
        let (squares, product) = (f64::from(self.squares), f64::from(self.product));
        let means = (a * a + b * b) / PIXELS;
        let both = a * b / PIXELS;
        let variances = (squares - means) / (PIXELS - 1.0);
        let covariance = (product - both) / (PIXELS - 1.0);
        (2.0 * both / PIXELS + C1) * (2.0 * covariance + C2) / ((means / PIXELS + C1) * (variances + C2))
    }
}

/// Compares two pictures, given as rows of equal length; none if they differ in size or are smaller than 8×8.
pub fn compare(reference: &[&[u8]], received: &[&[u8]]) -> Option<Difference> {
    let width = reference.first()?.len();
    let alike = reference.len() == received.len() && reference.iter().chain(received).all(|row| row.len() == width);
    if !alike || width < 8 || reference.len() < 8 {
        return None;
    }
    let across = width / 4;
    let mut above = vec![Sums::default(); across];
    let mut here = vec![Sums::default(); across];
    let (mut ssim, mut windows) = (0.0, 0u32);
    let bands = reference.chunks_exact(4).zip(received.chunks_exact(4));
    for (band, (a, b)) in bands.enumerate() {
        let (a, b) = ([a[0], a[1], a[2], a[3]], [b[0], b[1], b[2], b[3]]);
        for (x, sums) in here.iter_mut().enumerate() {
            *sums = Sums::of_block(a, b, 4 * x);
        }
        if band > 0 {
            let columns = above.windows(2).zip(here.windows(2));
            for (up, down) in columns {
                ssim += up[0].and(up[1]).and(down[0].and(down[1])).ssim();
                windows += 1;
            }
        }
        std::mem::swap(&mut above, &mut here);
    }
    let error: u64 = reference.iter().zip(received).map(|(a, b)| squared_error(a, b)).sum();
    let mse = error as f64 / (width * reference.len()) as f64;
    Some(Difference { ssim: ssim / f64::from(windows), mse })
}

fn squared_error(a: &[u8], b: &[u8]) -> u64 {
    // A row's sum fits 32 bits up to a width of 66,000 pixels.
    a.chunks(1 << 16)
        .zip(b.chunks(1 << 16))
        .map(|(a, b)| {
            let squares = a.iter().zip(b).map(|(a, b)| {
                let d = u32::from(a.abs_diff(*b));
                d * d
            });
            u64::from(squares.sum::<u32>())
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The definition, window by window.
    fn slow(a: &[Vec<u8>], b: &[Vec<u8>]) -> f64 {
        let (height, width) = (a.len() / 4 * 4, a[0].len() / 4 * 4);
        let mut values = Vec::new();
        for y in (0..=height - 8).step_by(4) {
            for x in (0..=width - 8).step_by(4) {
                let cut = |p: &[Vec<u8>]| -> Vec<f64> {
                    p[y..y + 8].iter().flat_map(|row| &row[x..x + 8]).map(|v| f64::from(*v)).collect()
                };
                let (p, q) = (cut(a), cut(b));
                let mean = |v: &[f64]| v.iter().sum::<f64>() / 64.0;
                let (mp, mq) = (mean(&p), mean(&q));
                let spread = |v: &[f64], mv: f64, w: &[f64], mw: f64| {
                    v.iter().zip(w).map(|(v, w)| (v - mv) * (w - mw)).sum::<f64>() / 63.0
                };
                let (vp, vq, c) = (spread(&p, mp, &p, mp), spread(&q, mq, &q, mq), spread(&p, mp, &q, mq));
                values.push((2.0 * mp * mq + C1) * (2.0 * c + C2) / ((mp * mp + mq * mq + C1) * (vp + vq + C2)));
            }
        }
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn rows(picture: &[Vec<u8>]) -> Vec<&[u8]> {
        picture.iter().map(Vec::as_slice).collect()
    }

    fn pictures() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<Vec<u8>>)> {
        (8usize..30, 8usize..30).prop_flat_map(|(height, width)| {
            let picture = || prop::collection::vec(prop::collection::vec(any::<u8>(), width), height);
            (picture(), picture())
        })
    }

    proptest! {
        #[test]
        fn it_is_the_definition((a, b) in pictures()) {
            let found = compare(&rows(&a), &rows(&b)).unwrap();
            prop_assert!((found.ssim - slow(&a, &b)).abs() < 1e-9);
            let error: f64 = a.iter().flatten().zip(b.iter().flatten()).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum();
            prop_assert!((found.mse - error / (a.len() * a[0].len()) as f64).abs() < 1e-9);
            prop_assert_eq!(compare(&rows(&b), &rows(&a)).unwrap().mse, found.mse);
        }

        #[test]
        fn equal_pictures_are_equal((a, _) in pictures()) {
            prop_assert_eq!(compare(&rows(&a), &rows(&a)), Some(Difference { ssim: 1.0, mse: 0.0 }));
        }
    }

    #[test]
    fn pictures_of_other_sizes_are_not_compared() {
        let (a, b, small) = (vec![vec![0; 16]; 16], vec![vec![0; 16]; 12], vec![vec![0; 4]; 4]);
        assert_eq!(compare(&rows(&a), &rows(&b)), None);
        assert_eq!(compare(&rows(&small), &rows(&small)), None);
        assert_eq!(compare(&[], &[]), None);
    }
}
