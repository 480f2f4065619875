// Dumbbell for ns-3.37: long TCP flows through one bottleneck in each direction.
//
//   dumbbell --key=value …        (keys: main; prints one JSON line)
//
// hosts=0: both ends of the bottleneck are one node each with all sockets on it, the cheapest form of the scenario for ns-3
// with few flows; hosts=K: each end has K hosts behind fast access links and the flows are dealt to them in turn, which is
// faster with hundreds of flows because ns-3 finds a packet's socket by walking the list of a node's sockets. Packets are
// 1500 bytes (1448 + 52), ACKs 52. A FIFO is the device's own queue, so `limit` packets wait beside the one in
// transmission; CoDel is a queue discipline over a device queue of one packet. Delays are the time integral of the packets
// waiting divided by the departures (Little's law), up to the start of transmission; nothing is traced to disk.

#include "watch.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t PACKET = 1500, PAYLOAD = 1448; // 20 (IP), 20 (TCP) and 12 (timestamps) less
constexpr uint16_t PORT = 5000;

// Not getrusage: its maximum is inherited from the process that started this one.
double
PeakMegabytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
    {
        if (line.rfind("VmHWM:", 0) == 0)
        {
            return std::stod(line.substr(6)) / 1024;
        }
    }
    return 0;
}

void
AddCoDel(Ptr<NetDevice> device, uint32_t limit, Time target, Watch* watch)
{
    TrafficControlHelper control;
    control.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, limit)),
                             "Target", TimeValue(target), "Interval", TimeValue(MilliSeconds(100)));
    auto disc = control.Install(device).Get(0);
    WatchDiscipline(disc, watch);
}

// One end: the hosts where sockets live, behind the gateway (or the gateway itself).
struct Side
{
    NodeContainer hosts;
    std::vector<Ipv4Address> addresses;
};

Side
MakeSide(Ptr<Node> gateway, Ipv4Address address, uint32_t hosts, const char* network, double delay, InternetStackHelper& internet)
{
    Side side;
    if (!hosts)
    {
        side.hosts.Add(gateway);
        side.addresses.push_back(address);
        return side;
    }
    PointToPointHelper access;
    access.DisableFlowControl();
    access.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    access.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    access.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    Ipv4AddressHelper addresses(network, "255.255.255.252");
    side.hosts.Create(hosts);
    internet.Install(side.hosts);
    for (uint32_t i = 0; i < hosts; ++i)
    {
        side.addresses.push_back(addresses.Assign(access.Install(side.hosts.Get(i), gateway)).GetAddress(0));
        addresses.NewNetwork();
    }
    return side;
}

void
AddFlows(Side& from, Side& to, uint32_t count, double within, Ptr<UniformRandomVariable> draw)
{
    if (count)
    {
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
        sink.Install(to.hosts).Start(Seconds(0));
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t host = i % to.hosts.GetN();
        BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(to.addresses[host], PORT));
        source.SetAttribute("MaxBytes", UintegerValue(0));
        source.SetAttribute("SendSize", UintegerValue(8 * PAYLOAD));
        source.Install(from.hosts.Get(host)).Start(Seconds(draw->GetValue(0, within)));
    }
}

} // namespace

int
main(int argc, char* argv[])
{
    double downRate = 100e6, upRate = 100e6, rtt = 0.020, delack = 0.040, minRto = 0.2, warmup = 5, duration = 60;
    double startWithin = 1, target = 0.005;
    uint32_t downFlows = 10, upFlows = 0, iw = 10, limit = 167, upLimit = 0, seed = 1, sendBuffer = 4 << 20;
    uint32_t hosts = 0;
    std::string tcp = "newreno", queue = "fifo";
    CommandLine cmd;
    cmd.AddValue("down-rate", "bit/s", downRate);
    cmd.AddValue("up-rate", "bit/s", upRate);
    cmd.AddValue("rtt", "s", rtt);
    cmd.AddValue("down-flows", "long flows from the server", downFlows);
    cmd.AddValue("up-flows", "long flows from the client", upFlows);
    cmd.AddValue("tcp", "newreno, cubic or bic", tcp);
    cmd.AddValue("iw", "initial window, segments", iw);
    cmd.AddValue("queue", "fifo or codel", queue);
    cmd.AddValue("limit", "packets that may wait", limit);
    cmd.AddValue("up-limit", "the same for the other direction; 0: as limit", upLimit);
    cmd.AddValue("target", "CoDel's target, s", target);
    cmd.AddValue("delack", "delayed-ACK timer, s", delack);
    cmd.AddValue("min-rto", "s", minRto);
    cmd.AddValue("send-buffer", "bytes a flow", sendBuffer);
    cmd.AddValue("warmup", "s left out of the measurement", warmup);
    cmd.AddValue("duration", "s", duration);
    cmd.AddValue("start-within", "s", startWithin);
    cmd.AddValue("hosts", "hosts at each end; 0: the sockets live on the gateways", hosts);
    cmd.AddValue("seed", "run number", seed);
    cmd.Parse(argc, argv);
    upLimit = upLimit ? upLimit : limit;
    RngSeedManager::SetRun(seed);

    const char* controller = tcp == "cubic" ? "ns3::TcpCubic" : tcp == "bic" ? "ns3::TcpBic" : "ns3::TcpNewReno";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(controller));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(iw));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(sendBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(16 << 20));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(Seconds(delack)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRto)));

    NodeContainer nodes(2); // 0: server, 1: client
    PointToPointHelper pointToPoint;
    const bool fifo = queue == "fifo";
    if (fifo)
    {
        pointToPoint.DisableFlowControl(); // without it the address helper adds a default queue discipline
    }
    else
    {
        pointToPoint.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    }
    pointToPoint.SetChannelAttribute("Delay", TimeValue(Seconds(hosts ? rtt / 4 : rtt / 2)));
    NetDeviceContainer devices = pointToPoint.Install(nodes);
    InternetStackHelper internet;
    internet.SetIpv6StackInstall(false);
    internet.Install(nodes);

    Watch down, up;
    SetRate(devices.Get(0), downRate, PACKET, fifo ? limit : 0, &down);
    SetRate(devices.Get(1), upRate, PACKET, fifo ? upLimit : 0, &up);
    if (!fifo)
    {
        AddCoDel(devices.Get(0), limit, Seconds(target), &down);
        AddCoDel(devices.Get(1), upLimit, Seconds(target), &up);
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    auto draw = CreateObject<UniformRandomVariable>();
    Side servers = MakeSide(nodes.Get(0), interfaces.GetAddress(0), hosts, "10.1.0.0", rtt / 8, internet);
    Side clients = MakeSide(nodes.Get(1), interfaces.GetAddress(1), hosts, "10.2.0.0", rtt / 8, internet);
    if (hosts)
    {
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }
    AddFlows(servers, clients, downFlows, startWithin, draw);
    AddFlows(clients, servers, upFlows, startWithin, draw);

    Simulator::Schedule(Seconds(warmup), &Watch::Reset, &down);
    Simulator::Schedule(Seconds(warmup), &Watch::Reset, &up);
    Simulator::Stop(Seconds(duration));
    const auto began = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - began;
    down.Account();
    up.Account();
    std::printf("{\"peer\": \"ns3\", \"wall_s\": %.4f, \"rss_mb\": %.1f, \"simulated_s\": %g, \"events\": %lu", wall.count(),
                PeakMegabytes(), duration, (unsigned long)Simulator::GetEventCount());
    down.Print("down", duration - warmup);
    up.Print("up", duration - warmup);
    std::printf("}\n");
    Simulator::Destroy();
    return 0;
}
