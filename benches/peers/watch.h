// One direction of a bottleneck of ns-3.37, seen through trace sources: for the programs beside this file.

#pragma once

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdio>

using namespace ns3;

namespace
{

constexpr uint32_t PPP_HEADER = 2; // on every packet of a point-to-point device
constexpr uint32_t DATA_AT_LEAST = 500;

// One direction of the bottleneck, seen through trace sources.
struct Watch
{
    double rate = 0;
    uint64_t waiting = 0;
    double integral = 0, since = 0, bytes = 0;
    uint64_t arrived = 0, dropped = 0, departed = 0, wholeRun = 0, wholeRunData = 0;

    void Account()
    {
        const double now = Simulator::Now().GetSeconds();
        integral += waiting * (now - since);
        since = now;
    }

    void Enter()
    {
        Account();
        ++waiting;
        ++arrived;
    }

    void Leave(uint32_t size)
    {
        Account();
        --waiting;
        ++departed;
        ++wholeRun;
        wholeRunData += size > DATA_AT_LEAST;
        bytes += size;
    }

    void Refuse()
    {
        ++arrived;
        ++dropped;
    }

    void Reset()
    {
        Account();
        integral = bytes = 0;
        arrived = dropped = departed = 0;
    }

    void DeviceIn(Ptr<const Packet>) { Enter(); }
    void DeviceOut(Ptr<const Packet> packet) { Leave(packet->GetSize() - PPP_HEADER); }
    void DeviceRefused(Ptr<const Packet>) { Refuse(); }

    void ItemIn(Ptr<const QueueDiscItem>) { Enter(); }
    void ItemOut(Ptr<const QueueDiscItem> item) { Leave(item->GetSize()); }
    void ItemRefused(Ptr<const QueueDiscItem>, const char*) { Refuse(); }

    // Dropped by CoDel after it had been counted as dequeued.
    void ItemDropped(Ptr<const QueueDiscItem> item, const char*)
    {
        ++dropped;
        --departed;
        --wholeRun;
        wholeRunData -= item->GetSize() > DATA_AT_LEAST;
        bytes -= item->GetSize();
    }

    void Print(const char* name, double measured) const
    {
        std::printf(", \"%s\": {\"arrived_pkts\": %lu, \"dropped_pkts\": %lu, \"departed_pkts\": %lu, \"whole_run_pkts\": %lu, "
                    "\"whole_run_data_pkts\": %lu, \"delay_ms\": %.3f, \"utilisation\": %.4f, \"loss\": %.5f}",
                    name, arrived, dropped, departed, wholeRun, wholeRunData,
                    departed ? 1e3 * integral / departed : 0.0, bytes * 8 / (rate * measured),
                    arrived ? double(dropped) / arrived : 0.0);
    }
};

void
SetRate(Ptr<NetDevice> device, double rate, uint32_t packet, uint32_t limit, Watch* watch)
{
    watch->rate = rate;
    auto link = DynamicCast<PointToPointNetDevice>(device);
    // The PPP header is not part of the scenario: a full-sized packet takes as long as its bytes at `rate`.
    link->SetDataRate(DataRate(std::llround(rate * (packet + PPP_HEADER) / packet)));
    if (limit)
    {
        auto queue = link->GetQueue();
        queue->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, limit));
        queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&Watch::DeviceIn, watch));
        queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&Watch::DeviceOut, watch));
        queue->TraceConnectWithoutContext("Drop", MakeCallback(&Watch::DeviceRefused, watch));
    }
}

void
WatchDiscipline(Ptr<QueueDisc> disc, Watch* watch)
{
    disc->TraceConnectWithoutContext("Enqueue", MakeCallback(&Watch::ItemIn, watch));
    disc->TraceConnectWithoutContext("Dequeue", MakeCallback(&Watch::ItemOut, watch));
    disc->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&Watch::ItemRefused, watch));
    disc->TraceConnectWithoutContext("DropAfterDequeue", MakeCallback(&Watch::ItemDropped, watch));
}

} // namespace
