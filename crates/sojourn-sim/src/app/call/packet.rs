//! What a call's packets carry, and the sizes of their headers.

use super::gcc::{PacketResult, Probe};
use sojourn_net::{Span, Time};

/// IP and UDP.
const TRANSPORT: u32 = 28;
/// RTP's header with the extensions that a browser's packets have, behind 4 bytes of their own (RFC 8285): time of
/// sending and transport-wide number in 7 bytes, and with sound its level besides, padded to words.
pub(super) const AUDIO_RTP: u32 = 12 + 4 + 12;
pub(super) const VIDEO_RTP: u32 = 12 + 4 + 8;
/// Headers of a packet of sound as libwebrtc counts them: Chromium 156 never asks for less than 84.4 kbit/s, of which
/// these and 80 bytes of sound take 54.4.
pub(super) const AUDIO_HEADERS: u32 = TRANSPORT + AUDIO_RTP;
/// What the payload of video begins with: VP8's descriptor (RFC 7741) and RED's header.
pub(super) const DESCRIPTORS: u32 = 4 + 1;
/// Headers of a packet of video. Chromium's packets behind a queue have as many, and `TIMING` more.
pub(super) const VIDEO_HEADERS: u32 = TRANSPORT + VIDEO_RTP + DESCRIPTORS;
/// The extension with a picture's times on its way through the sender, in the last packet of a picture
/// (`rtp_sender_video.cc`), once in so long (`video_codec.h`).
pub(super) const TIMING: u32 = 16;
pub(super) const TIMING_INTERVAL: Span = Span::from_millis(200);
/// What libwebrtc counts as a packet's headers when it sets the coder's rate (`rtp_video_sender.cc`), with the number
/// that a repeated packet has besides; and the largest packet, without and with IP and UDP.
pub(super) const COUNTED_RTP: u32 = VIDEO_RTP + 2;
pub(super) const COUNTED_HEADERS: u32 = TRANSPORT + COUNTED_RTP;
const MOST_RTP: u32 = 1200;
pub(super) const MOST_PACKET: u32 = MOST_RTP + TRANSPORT;
/// SRTP's tag of 80 bits (`crypto_options.cc`: the first choice), which is sent, and which no rate counts.
pub(super) const SRTP_TAG: u32 = 10;
/// Most of a picture in a packet: 1200 bytes of RTP (`media_constants.cc`), and room for FEC's headers (18), for all
/// extensions that its packets may have (48), and for the number of a repeated packet (`rtp_sender_video.cc`).
pub(super) const MOST_PAYLOAD: u32 = MOST_RTP - 18 - 48 - 2 - VIDEO_RTP - DESCRIPTORS;
/// IP, UDP, and SRTCP's index and tag around an RTCP packet.
const RTCP_HEADERS: u32 = TRANSPORT + 4 + SRTP_TAG;

/// A receiver report about one stream.
const RECEIVER_REPORT: usize = 32;

/// What an RTP packet is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Payload {
    /// A packet of the audio stream.
    Audio,
    /// A packet of a frame: the number of the frame and the packet's place in the stream.
    Video { frame: u32, number: u32 },
    /// A part of the FEC of a group: the numbers of both.
    Fec { group: u32, part: u32 },
    /// Nothing, to probe.
    Padding,
}

/// An RTP packet, waiting or sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rtp {
    pub(super) payload: Payload,
    /// Bytes at IP, but for SRTP's tag.
    pub(super) bytes: u32,
    /// It was sent before.
    pub(super) again: bool,
}

/// An RTP packet on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sent {
    pub(super) rtp: Rtp,
    pub(super) at: Time,
    pub(super) probe: Option<Probe>,
}

/// A frame as it was encoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) captured: Time,
    /// Payload.
    pub(super) bytes: u32,
    /// Lines of the picture.
    pub(super) height: u16,
    pub(super) key: bool,
    /// The first of its packets, and how many there are.
    pub(super) first: u32,
    pub(super) packets: u32,
}

/// Packets of video and its FEC that a receiver knows to have been sent first, and those of them that came.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reception {
    pub(super) expected: u32,
    pub(super) received: u32,
}

/// What an RTCP packet says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rtcp {
    /// Fates of packets by their transport-wide numbers: times of arrival, or lost.
    Report(Vec<(u64, Option<Time>)>),
    /// Video packets to be sent again, and how many came so far.
    Nack(Vec<u32>, Reception),
    /// A key frame is needed.
    PictureLoss,
}

impl Rtcp {
    /// Bytes at IP: transport-wide feedback has chunks of two bytes for seven packets and a byte for each that arrived;
    /// a negative acknowledgement four bytes for 17 packets in a row, and a receiver report of 32 bytes with it, as
    /// Chromium 156 was seen to send.
    pub(super) fn bytes(&self) -> u32 {
        let body = match self {
            Self::Report(fates) => {
                let arrived = fates.iter().filter(|(_, arrived)| arrived.is_some()).count();
                20 + 2 * fates.len().div_ceil(7) + arrived
            }
            Self::Nack(numbers, _) => {
                let mut fields = 0;
                let mut end = 0;
                for number in numbers {
                    if fields == 0 || *number >= end {
                        fields += 1;
                        end = number + 17;
                    }
                }
                RECEIVER_REPORT + 12 + 4 * fields
            }
            Self::PictureLoss => 12,
        };
        RTCP_HEADERS + body as u32
    }
}

/// The results that a report is about.
pub(super) fn results(fates: &[(u64, Option<Time>)], sent: &[Sent]) -> Vec<PacketResult> {
    let result = |(seq, arrived): &(u64, Option<Time>)| {
        let Sent { rtp, at, probe } = *sent.get(*seq as usize)?;
        Some(PacketResult { seq: *seq, bytes: rtp.bytes, sent: at, arrived: *arrived, probe })
    };
    fates.iter().filter_map(result).collect()
}

/// Time between packets of the audio stream.
pub(super) const AUDIO_INTERVAL: Span = Span::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtcp_grows_with_what_it_says() {
        let report = |n: u64| Rtcp::Report((0..n).map(|seq| (seq, Some(Time::ZERO))).collect()).bytes();
        assert_eq!((report(7), report(14)), (42 + 20 + 2 + 7, 42 + 20 + 4 + 14));
        let nack = |numbers| Rtcp::Nack(numbers, Reception::default()).bytes();
        assert_eq!(nack(vec![5]), 42 + 32 + 12 + 4);
        // 5 and the 16 after it in one field; 22 begins another.
        assert_eq!(nack(vec![5, 21, 22]), 42 + 32 + 12 + 8);
        assert_eq!(Rtcp::PictureLoss.bytes(), 54);
    }
}
