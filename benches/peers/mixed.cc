// The study of active queue management on slow links, for ns-3.37: four long flows beside web, video and voice.
//
//   mixed --key=value …           (keys: main; prints one JSON line)
//
// Senders, two gateways and receivers as the study has them: round trips of 10, 100 and 300 ms. Two long flows and one web
// load are near, two and one are far, video and calls are between. TCP data of 1024 bytes take 1064 on the link, as ns-2
// counts them (no timestamps). Web connections come as a Poisson process, each brings a response of exponential size and no
// request. The video is a file of packets (microseconds since the packet before and bytes, 32 bits each in network order),
// from a random place on. Speech comes and goes in exponential times.
// Every queue is a queue discipline over a device queue of one packet, so that `limit` packets wait beside that one and the
// one in transmission. Delays are the time integral of the packets waiting divided by the departures (Little's law), up to
// the start of transmission.

#include "watch.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t MSS = 1024;
constexpr uint16_t LONG_PORT = 5000, WEB_PORT = 5001, DATAGRAM_PORT = 6000;
constexpr uint32_t IP_AND_UDP = 28, IP_AND_TCP = 40;

// Packets of a video, sent again and again.
struct Video
{
    std::vector<std::pair<uint32_t, uint32_t>> packets;
    size_t next = 0;
    Ptr<Socket> socket;

    explicit Video(const std::string& file)
    {
        std::ifstream in(file, std::ios::binary);
        unsigned char word[8];
        while (in.read(reinterpret_cast<char*>(word), 8))
        {
            auto number = [&word](int at) {
                return uint32_t(word[at]) << 24 | uint32_t(word[at + 1]) << 16 | uint32_t(word[at + 2]) << 8 | word[at + 3];
            };
            packets.emplace_back(number(0), number(4));
        }
    }

    void Send()
    {
        socket->Send(Create<Packet>(packets[next].second - IP_AND_UDP));
        next = (next + 1) % packets.size();
        Simulator::Schedule(MicroSeconds(packets[next].first), &Video::Send, this);
    }
};

// Web connections from one host to another.
struct Web
{
    Ptr<Node> server;
    Ipv4Address client;
    Ptr<ExponentialRandomVariable> pause, size;

    void Connect()
    {
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(client, WEB_PORT));
        source.SetAttribute("MaxBytes", UintegerValue(1 + uint64_t(size->GetValue())));
        source.Install(server).Start(Seconds(0));
        Simulator::Schedule(Seconds(pause->GetValue()), &Web::Connect, this);
    }
};

// New Reno that halves its window at a loss, as ns-2's does and ours. ns-3's halves what is in flight when the third duplicate
// acknowledgement comes, which is less by what was SACKed and lost.
class HalfOfWindow : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("HalfOfWindow").SetParent<TcpNewReno>().AddConstructor<HalfOfWindow>();
        return id;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override
    {
        return std::max(2 * state->m_segmentSize, state->m_cWnd.Get() / 2);
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<HalfOfWindow>(this); }
};

Ptr<ExponentialRandomVariable>
Exponential(double mean)
{
    auto draw = CreateObject<ExponentialRandomVariable>();
    draw->SetAttribute("Mean", DoubleValue(mean));
    return draw;
}

} // namespace

int
main(int argc, char* argv[])
{
    double rate = 2e6, target = 0.010, delack = 0.040, minRto = 0.2, warmup = 20, duration = 200;
    double webRate = 4, webMean = 1400, update = 0.030, burst = 0.100;
    uint32_t limit = 100, seed = 1, threshold = 10000, ackEvery = 1;
    bool halfOfWindow = false, pauses = true, dequeueRate = true, derandomise = false;
    std::string queue = "fifo", video, set;
    CommandLine cmd;
    cmd.AddValue("rate", "bit/s of the bottleneck", rate);
    cmd.AddValue("queue", "fifo, red (adaptive), pie or codel", queue);
    cmd.AddValue("limit", "packets that may wait", limit);
    cmd.AddValue("target", "the discipline's target delay, s", target);
    cmd.AddValue("ack-every", "segments for an acknowledgement", ackEvery);
    cmd.AddValue("delack", "delayed-ACK timer, s", delack);
    cmd.AddValue("min-rto", "s", minRto);
    cmd.AddValue("half-of-window", "a loss halves the window, not what is in flight", halfOfWindow);
    cmd.AddValue("web-rate", "connections per second of each of the two web loads", webRate);
    cmd.AddValue("web-mean", "mean bytes of a response", webMean);
    cmd.AddValue("video", "file of the video's packets", video);
    cmd.AddValue("pauses", "callers pause", pauses);
    cmd.AddValue("pie-update", "s", update);
    cmd.AddValue("pie-burst", "s", burst);
    cmd.AddValue("pie-threshold", "bytes of a measurement of the departure rate", threshold);
    cmd.AddValue("pie-rate", "PIE's delay is the backlog over a measured departure rate", dequeueRate);
    cmd.AddValue("pie-derandomise", "PIE keeps its drops apart", derandomise);
    cmd.AddValue("warmup", "s left out of the measurement", warmup);
    cmd.AddValue("duration", "s", duration);
    cmd.AddValue("seed", "run number", seed);
    cmd.Parse(argc, argv);
    RngSeedManager::SetRun(seed);

    const TypeId newReno = halfOfWindow ? HalfOfWindow::GetTypeId() : TcpNewReno::GetTypeId();
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(newReno));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(3));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(delack)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));

    NodeContainer nodes(8); // 0 to 2: senders, 3 and 4: gateways, 5 to 7: receivers
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);
    PointToPointHelper access;
    access.DisableFlowControl();
    access.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    Ipv4AddressHelper addresses("10.1.0.0", "255.255.255.252");
    std::vector<Ipv4Address> address(8);
    const double delays[] = {0.0025, 0.0025, 0.0025, 0, 0, 0.0025, 0.0475, 0.1475};
    for (uint32_t i : {0, 1, 2, 5, 6, 7})
    {
        access.SetChannelAttribute("Delay", TimeValue(Seconds(delays[i])));
        address[i] = addresses.Assign(access.Install(nodes.Get(i), nodes.Get(i < 3 ? 3 : 4))).GetAddress(0);
        addresses.NewNetwork();
    }
    PointToPointHelper bottleneck;
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    bottleneck.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
    NetDeviceContainer devices = bottleneck.Install(nodes.Get(3), nodes.Get(4));
    Watch down, up;
    SetRate(devices.Get(0), rate, MSS + IP_AND_TCP, 0, &down);
    SetRate(devices.Get(1), rate, MSS + IP_AND_TCP, 0, &up);

    const QueueSizeValue size(QueueSize(QueueSizeUnit::PACKETS, limit));
    TrafficControlHelper control, plain;
    if (queue == "red")
    {
        // Thresholds of 0 are set from the target, as in ns-2.
        control.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", size, "ARED", BooleanValue(true), "MinTh", DoubleValue(0),
                                 "MaxTh", DoubleValue(0), "QW", DoubleValue(-1), "TargetDelay", TimeValue(Seconds(target)),
                                 "LinkBandwidth", DataRateValue(DataRate(uint64_t(rate))), "LinkDelay", TimeValue(Seconds(0)));
    }
    else if (queue == "pie")
    {
        control.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", size, "QueueDelayReference", TimeValue(Seconds(target)),
                                 "Tupdate", TimeValue(Seconds(update)), "MaxBurstAllowance", TimeValue(Seconds(burst)),
                                 "UseDequeueRateEstimator", BooleanValue(dequeueRate), "DequeueThreshold",
                                 UintegerValue(threshold), "UseDerandomization", BooleanValue(derandomise));
    }
    else if (queue == "codel")
    {
        control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", size, "Target", TimeValue(Seconds(target)), "Interval",
                                 TimeValue(MilliSeconds(100)));
    }
    else
    {
        control.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
    }
    plain.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, 100)));
    WatchDiscipline(control.Install(devices.Get(0)).Get(0), &down);
    WatchDiscipline(plain.Install(devices.Get(1)).Get(0), &up);
    addresses.Assign(devices);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    auto draw = CreateObject<UniformRandomVariable>();
    const std::pair<int, int> ways[] = {{0, 5}, {2, 7}}; // near and far
    std::vector<Web> webs;
    webs.reserve(2);
    for (auto [from, to] : ways)
    {
        for (uint16_t port : {LONG_PORT, WEB_PORT})
        {
            PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
            sink.Install(nodes.Get(to)).Start(Seconds(0));
        }
        for (int i = 0; i < 2; ++i)
        {
            BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(address[to], LONG_PORT));
            source.SetAttribute("SendSize", UintegerValue(8 * MSS));
            source.Install(nodes.Get(from)).Start(Seconds(draw->GetValue(0, 1)));
        }
        if (webRate > 0)
        {
            webs.push_back({nodes.Get(from), address[to], Exponential(1 / webRate), Exponential(webMean)});
            Simulator::Schedule(Seconds(draw->GetValue(0, 1)), &Web::Connect, &webs.back());
        }
    }
    for (int i = 0; i < 6; ++i)
    {
        const int from = i % 2 ? 6 : 1, to = i % 2 ? 1 : 6;
        OnOffHelper speech("ns3::UdpSocketFactory", InetSocketAddress(address[to], DATAGRAM_PORT + i));
        speech.SetConstantRate(DataRate(24000 * (60 - IP_AND_UDP) / 60), 60 - IP_AND_UDP);
        if (pauses)
        {
            speech.SetAttribute("OnTime", PointerValue(Exponential(1.004)));
            speech.SetAttribute("OffTime", PointerValue(Exponential(1.587)));
        }
        speech.Install(nodes.Get(from)).Start(Seconds(draw->GetValue(0, 1)));
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), DATAGRAM_PORT + i));
        sink.Install(nodes.Get(to)).Start(Seconds(0));
    }
    Video clip(video);
    if (!clip.packets.empty())
    {
        clip.next = draw->GetInteger(0, clip.packets.size() - 1);
        clip.socket = Socket::CreateSocket(nodes.Get(1), UdpSocketFactory::GetTypeId());
        clip.socket->Connect(InetSocketAddress(address[6], DATAGRAM_PORT + 6));
        PacketSinkHelper sink("ns3::UdpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), DATAGRAM_PORT + 6));
        sink.Install(nodes.Get(6)).Start(Seconds(0));
        Simulator::Schedule(Seconds(draw->GetValue(0, 1)), &Video::Send, &clip);
    }

    Simulator::Schedule(Seconds(warmup), &Watch::Reset, &down);
    Simulator::Schedule(Seconds(warmup), &Watch::Reset, &up);
    Simulator::Stop(Seconds(duration));
    const auto began = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    down.Account();
    up.Account();
    std::printf("{\"peer\": \"ns3\", \"wall_s\": %.4f, \"simulated_s\": %g", wall.count(), duration);
    down.Print("down", duration - warmup);
    up.Print("up", duration - warmup);
    std::printf("}\n");
    Simulator::Destroy();
    return 0;
}
