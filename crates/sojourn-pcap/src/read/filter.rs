//! Filters: classic BPF programs, as libpcap compiles tcpdump's expressions to.
//!
//! Source: McCanne and Jacobson, "The BSD packet filter", USENIX 1993; the codes are those of `pcap/bpf.h`. A program
//! whose jumps leave it or whose codes are unknown is refused when it is loaded, and jumps only lead forward, so every
//! program ends. Differences: none of the kernel's ancillary loads.

/// One instruction: code, jump if true, jump if false, operand.
pub type Instruction = (u16, u8, u8, u32);

/// A program that was found to be sound.
#[derive(Debug, Clone)]
pub struct Filter(Vec<Instruction>);

/// Words of scratch memory.
const MEMORY: usize = 16;

impl Filter {
    /// Load a program.
    ///
    /// # Errors
    /// A sentence that names the instruction which is unknown or leads out of the program.
    pub fn load(program: Vec<Instruction>) -> Result<Self, String> {
        let length = program.len();
        for (at, &(code, yes, no, k)) in program.iter().enumerate() {
            let forward = match code {
                0x05 => k as usize,
                _ if code & 7 == 5 => usize::from(yes.max(no)),
                _ if code & 7 == 6 => continue,
                _ => 0,
            };
            let memory = matches!(code, 0x02 | 0x03 | 0x60 | 0x61) && k as usize >= MEMORY;
            if memory || forward.saturating_add(at + 1) >= length {
                return Err(format!("instruction {at} of the filter leads out of it"));
            }
        }
        if length == 0 { Err("the filter is empty".to_owned()) } else { Ok(Self(program)) }
    }

    /// Whether a frame, of which `data` was kept, is wanted.
    pub fn wants(&self, data: &[u8], wire_len: u32) -> bool {
        self.run(data, wire_len).unwrap_or(0) != 0
    }

    /// What the program returns; nothing if it reads behind what was kept, which rejects the frame as in libpcap.
    fn run(&self, data: &[u8], wire_len: u32) -> Option<u32> {
        let (mut a, mut x, mut at, mut memory) = (0u32, 0u32, 0usize, [0u32; MEMORY]);
        let load = |offset: u32, size: usize| {
            let bytes = data.get(offset as usize..)?.get(..size)?;
            Some(bytes.iter().fold(0u32, |all, &byte| all << 8 | u32::from(byte)))
        };
        while let Some(&(code, yes, no, k)) = self.0.get(at) {
            at += 1;
            let operand = if code & 8 != 0 { x } else { k };
            let size = match code & 0x18 {
                0x08 => 2,
                0x10 => 1,
                _ => 4,
            };
            match code {
                0x00 => a = k,
                0x01 => x = k,
                0x20 | 0x28 | 0x30 => a = load(k, size)?,
                0x40 | 0x48 | 0x50 => a = load(x.checked_add(k)?, size)?,
                0x80 => a = wire_len,
                0x81 => x = wire_len,
                0x60 => a = *memory.get(k as usize)?,
                0x61 => x = *memory.get(k as usize)?,
                0xb1 => x = (load(k, 1)? & 15) * 4,
                0x02 => *memory.get_mut(k as usize)? = a,
                0x03 => *memory.get_mut(k as usize)? = x,
                0x04 | 0x0c => a = a.wrapping_add(operand),
                0x14 | 0x1c => a = a.wrapping_sub(operand),
                0x24 | 0x2c => a = a.wrapping_mul(operand),
                0x34 | 0x3c => a = a.checked_div(operand)?,
                0x94 | 0x9c => a = a.checked_rem(operand)?,
                0x44 | 0x4c => a |= operand,
                0x54 | 0x5c => a &= operand,
                0xa4 | 0xac => a ^= operand,
                0x64 | 0x6c => a = a.checked_shl(operand).unwrap_or(0),
                0x74 | 0x7c => a = a.checked_shr(operand).unwrap_or(0),
                0x84 => a = a.wrapping_neg(),
                0x05 => at += k as usize,
                0x15 | 0x1d => at += usize::from(if a == operand { yes } else { no }),
                0x25 | 0x2d => at += usize::from(if a > operand { yes } else { no }),
                0x35 | 0x3d => at += usize::from(if a >= operand { yes } else { no }),
                0x45 | 0x4d => at += usize::from(if a & operand != 0 { yes } else { no }),
                0x06 => return Some(k),
                0x16 => return Some(a),
                0x07 => x = a,
                0x87 => a = x,
                _ => return None,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tcpdump -ddd "tcp port 80"`, the IPv4 half of it.
    const PORT_80: [Instruction; 12] = [
        (0x28, 0, 0, 12),
        (0x15, 0, 9, 0x800),
        (0x30, 0, 0, 23),
        (0x15, 0, 7, 6),
        (0x28, 0, 0, 20),
        (0x45, 5, 0, 0x1fff),
        (0xb1, 0, 0, 14),
        (0x48, 0, 0, 14),
        (0x15, 3, 0, 80),
        (0x48, 0, 0, 16),
        (0x15, 1, 0, 80),
        (0x06, 0, 0, 0),
    ];

    fn frame(port: u16, ether_type: u16) -> Vec<u8> {
        let mut frame = vec![0; 60];
        frame[12..14].copy_from_slice(&ether_type.to_be_bytes());
        (frame[14], frame[23]) = (0x45, 6);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        frame
    }

    #[test]
    fn tells_wanted_frames_from_others() {
        let mut program = PORT_80.to_vec();
        program.push((0x06, 0, 0, 262_144));
        let filter = Filter::load(program).unwrap();
        assert!(filter.wants(&frame(80, 0x800), 60));
        assert!(!filter.wants(&frame(81, 0x800), 60));
        assert!(!filter.wants(&frame(80, 0x806), 60));
        assert!(!filter.wants(&frame(80, 0x800)[..30], 60), "what was cut off cannot be wanted");
    }

    #[test]
    fn refuses_programs_that_lead_nowhere() {
        assert!(Filter::load(vec![(0x05, 0, 0, u32::MAX)]).is_err());
        assert!(Filter::load(vec![(0x15, 3, 0, 1), (0x06, 0, 0, 1)]).is_err());
        assert!(Filter::load(vec![]).is_err());
        assert!(!Filter::load(vec![(!7, 0, 0, 0), (0x06, 0, 0, 1)]).unwrap().wants(&[], 0));
    }

    /// What a program returns of the bytes 1 to 20 of a frame of 99, with 100 in A and 7 in X before.
    fn returned(program: &[Instruction]) -> Option<u32> {
        let mut whole = vec![(0x00, 0, 0, 100), (0x01, 0, 0, 7)];
        whole.extend(program);
        Filter::load(whole).unwrap().run(&(1..=20).collect::<Vec<u8>>(), 99)
    }

    const RETURN_A: Instruction = (0x16, 0, 0, 0);
    const TXA: Instruction = (0x87, 0, 0, 0);

    #[test]
    fn arithmetic_is_of_thirty_two_bits_with_a_number_or_with_x() {
        // add, sub, mul, div, mod, or, and, xor, lsh, rsh: with 12, and with X, which is 7.
        let codes = [0x04, 0x14, 0x24, 0x34, 0x94, 0x44, 0x54, 0xa4, 0x64, 0x74];
        let by_number = [112, 88, 1200, 8, 4, 108, 4, 104, 409_600, 0];
        let by_x = [107, 93, 700, 14, 2, 103, 4, 99, 12_800, 0];
        for ((code, by_number), by_x) in codes.into_iter().zip(by_number).zip(by_x) {
            assert_eq!(returned(&[(code, 0, 0, 12), RETURN_A]), Some(by_number), "{code:#x}");
            assert_eq!(returned(&[(code | 8, 0, 0, 12), RETURN_A]), Some(by_x), "{code:#x}");
        }
        assert_eq!(returned(&[(0x84, 0, 0, 0), RETURN_A]), Some(100u32.wrapping_neg()));
        let of_most = |code, k| returned(&[(0x00, 0, 0, u32::MAX), (code, 0, 0, k), RETURN_A]);
        assert_eq!([of_most(0x04, 2), of_most(0x24, 2), of_most(0x74, 4)], [1, u32::MAX - 1, u32::MAX >> 4].map(Some));
        assert_eq!(returned(&[(0x14, 0, 0, 101), RETURN_A]), Some(u32::MAX));
        assert_eq!([of_most(0x64, 32), of_most(0x74, 32)], [Some(0); 2], "all bits are out");
        assert_eq!([of_most(0x34, 0), of_most(0x94, 0)], [None; 2], "nothing is divided by zero");
    }

    #[test]
    fn loads_are_of_words_halves_and_bytes_of_the_length_and_of_memory() {
        let loaded = |code, k| returned(&[(code, 0, 0, k), RETURN_A]);
        assert_eq!([0x20, 0x28, 0x30].map(|code| loaded(code, 2)), [0x0304_0506, 0x0304, 0x03].map(Some));
        assert_eq!([0x40, 0x48, 0x50].map(|code| loaded(code, 2)), [0x0a0b_0c0d, 0x0a0b, 0x0a].map(Some), "behind X");
        assert_eq!([loaded(0x20, 16), loaded(0x20, 17)], [Some(0x1112_1314), None]);
        assert_eq!(
            [loaded(0x28, 18), loaded(0x28, 19), loaded(0x30, 19), loaded(0x30, 20)],
            [Some(0x1314), None, Some(0x14), None]
        );
        assert_eq!(loaded(0x50, u32::MAX), None);
        assert_eq!((loaded(0x00, 5), loaded(0x80, 5), loaded(0x60, 5)), (Some(5), Some(99), Some(0)));
        let in_x = |code, k| returned(&[(code, 0, 0, k), TXA, RETURN_A]);
        // The header of IPv4 is so many words: the low half of a byte, four times.
        assert_eq!([in_x(0x01, 5), in_x(0x81, 5), in_x(0xb1, 3), in_x(0xb1, 17)], [5, 99, 16, 8].map(Some));
        assert_eq!(returned(&[TXA, RETURN_A]), Some(7));
        assert_eq!(returned(&[(0x07, 0, 0, 0), (0x00, 0, 0, 1), TXA, RETURN_A]), Some(100), "A, by way of X");
        let kept = |store, load: &[Instruction]| {
            returned(&[&[(store, 0, 0, 15), (0x00, 0, 0, 1)], load, &[RETURN_A]].concat())
        };
        assert_eq!(kept(0x02, &[(0x60, 0, 0, 15)]), Some(100));
        assert_eq!(kept(0x03, &[(0x60, 0, 0, 15)]), Some(7));
        assert_eq!(kept(0x02, &[(0x61, 0, 0, 15), TXA]), Some(100));
        assert_eq!(kept(0x02, &[(0x60, 0, 0, 14)]), Some(0));
        for code in [0x02, 0x03, 0x60, 0x61] {
            assert!(
                Filter::load(vec![(code, 0, 0, 16), RETURN_A]).is_err()
                    && Filter::load(vec![(code, 0, 0, 15), RETURN_A]).is_ok()
            );
        }
    }

    #[test]
    fn jumps_compare_a_with_a_number_or_with_x() {
        // Equal, greater, greater or equal, bits in common: with A = 100.
        for (k, told) in [(100, [1, 0, 1, 1]), (99, [0, 1, 1, 1]), (101, [0, 0, 0, 1]), (3, [0, 1, 1, 0])] {
            for (code, told) in [0x15, 0x25, 0x35, 0x45].into_iter().zip(told) {
                let rest = [(0x06, 0, 0, 0), (0x06, 0, 0, 1), (0x06, 0, 0, 2)];
                let of = |jump| returned(&[&[(0x01, 0, 0, k), jump], &rest[..]].concat());
                assert_eq!(of((code, 1, 0, k)), Some(told), "{code:#x} {k}");
                assert_eq!(of((code, 0, 2, k)), Some(2 - 2 * told), "{code:#x} {k}");
                // With X, which is the same number; not with what stands there.
                assert_eq!(of((code | 8, 1, 0, 77)), Some(told), "{code:#x} {k}");
            }
        }
        assert_eq!(returned(&[(0x05, 0, 0, 1), (0x06, 0, 0, 5), (0x06, 0, 0, 6)]), Some(6));
    }
}
