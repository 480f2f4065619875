# Dumbbell for ns-2.35: long TCP flows through one bottleneck in each direction.
#
#   ns dumbbell.tcl key value …         (keys: the array below; prints one JSON line)
#
# hosts 0: both ends of the bottleneck are one node each with all agents on it, the cheapest form of the scenario for
# ns-2; hosts 1: every flow has two hosts of its own behind fast access links, the textbook's dumbbell.
# Packets are 1500 bytes (1448 + 52: timestamps), ACKs 52 bytes. The limit is the number of packets that may wait:
# ns-2's DropTail keeps limit - 1, so one is added. Delays are the time integral of the packets waiting divided by the
# departures (Little's law), up to the start of transmission; nothing is traced.

array set opt {
    down-rate 100e6   up-rate 100e6   rtt 0.020   down-flows 10   up-flows 0
    tcp newreno       iw 10           limit 167   up-limit 0      packet 1500
    delack 0.040      min-rto 0.2     warmup 5    duration 60     start-within 1
    seed 1            monitor 1         hosts 0         scheduler Calendar
}
foreach {key value} $argv {
    if {![info exists opt($key)]} { puts stderr "dumbbell.tcl: unknown key '$key'"; exit 2 }
    set opt($key) $value
}
if {$opt(up-limit) == 0} { set opt(up-limit) $opt(limit) }

ns-random $opt(seed)
set starts [new RNG]
$starts seed $opt(seed)
$starts next-substream

# Only the headers that are used (Flags too: every queue and sink reads them): ns-2 otherwise carries some
# 2 kB of headers in every packet.
remove-all-packet-headers
add-packet-header IP TCP Flags

Agent/TCP set window_ 100000
Agent/TCP set maxburst_ 0
Agent/TCP set packetSize_ [expr {$opt(packet) - 52}]
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set ts_option_size_ 12
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ $opt(min-rto)
Agent/TCP set overhead_ 0
Agent/TCP set windowInit_ $opt(iw)
Agent/TCP set windowInitOption_ 1
Agent/TCP set timestamps_ true
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink set packetSize_ 52
Agent/TCPSink/Sack1/DelAck set interval_ $opt(delack)

set ns [new Simulator]
$ns use-scheduler $opt(scheduler)
set server [$ns node]
set client [$ns node]

proc bottleneck {from to rate limit} {
    global ns opt
    $ns simplex-link $from $to $rate [expr {$opt(rtt) / ($opt(hosts) ? 4.0 : 2.0)}] DropTail
    $ns queue-limit $from $to [expr {$limit + 1}]
    if {!$opt(monitor)} { return "" }
    return [$ns monitor-queue $from $to "" 0]
}
set monitor(down) [bottleneck $server $client $opt(down-rate) $opt(limit)]
set monitor(up) [bottleneck $client $server $opt(up-rate) $opt(up-limit)]

# The node where an agent of this side lives.
proc host {gateway} {
    global ns opt
    if {!$opt(hosts)} { return $gateway }
    set node [$ns node]
    $ns duplex-link $node $gateway 10e9 [expr {$opt(rtt) / 8.0}] DropTail
    $ns queue-limit $node $gateway 100000
    $ns queue-limit $gateway $node 100000
    return $node
}
proc flow {from to fid} {
    global ns opt starts
    set from [host $from]
    set to [host $to]
    if {$opt(tcp) eq "newreno"} {
        set tcp [new Agent/TCP/Sack1]
    } else {
        set tcp [new Agent/TCP/Linux]
    }
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $tcp set fid_ $fid
    $sink set fid_ $fid
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    if {$opt(tcp) ne "newreno"} { $ns at 0 "$tcp select_ca $opt(tcp)" }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$starts uniform 0 $opt(start-within)] "$ftp start"
    return $tcp
}
set senders(down) {}
set senders(up) {}
for {set i 0} {$i < $opt(down-flows)} {incr i} { lappend senders(down) [flow $server $client $i] }
for {set i 0} {$i < $opt(up-flows)} {incr i} {
    lappend senders(up) [flow $client $server [expr {$opt(down-flows) + $i}]]
}

proc counters {direction} {
    global monitor
    set m $monitor($direction)
    set waiting [$m get-pkts-integrator]
    $waiting newpoint [[Simulator instance] now] [$waiting set lasty_]
    return [list [$m set parrivals_] [$m set pdrops_] [$m set pdepartures_] [$m set bdepartures_] [$waiting set sum_]]
}
proc snapshot {} {
    global before
    foreach direction {down up} { set before($direction) [counters $direction] }
}
proc sent {direction} {
    global senders
    set n 0
    foreach tcp $senders($direction) { incr n [$tcp set ndatapack_] }
    return $n
}
proc rss_kb {} {
    set f [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $f] -> kb
    close $f
    return $kb
}
proc report {} {
    global opt before monitor senders began
    set wall [expr {([clock microseconds] - $began) / 1e6}]
    set measured [expr {$opt(duration) - $opt(warmup)}]
    set out "\"peer\": \"ns2\", \"wall_s\": [format %.4f $wall], \"rss_mb\": [format %.1f [expr {[rss_kb] / 1024.0}]]"
    append out ", \"simulated_s\": $opt(duration), \"sent_data_pkts\": [expr {[sent down] + [sent up]}]"
    if {$opt(monitor)} {
        foreach direction {down up} {
            set now [counters $direction]
            foreach name {arrived dropped departed bytes waiting} a $before($direction) b $now {
                set $name [expr {double($b - $a)}]
            }
            # ns-2 counts bytes in 32 bits: take differences modulo 2^32.
            set bytes [expr {int([lindex $now 3] - [lindex $before($direction) 3]) & 0xffffffff}]
            # No agent counts its acknowledgements, but they have one size and data packets another.
            set whole_run [expr {int([lindex $now 2])}]
            if {[llength $senders([expr {$direction eq "down" ? "up" : "down"}])]} {
                set whole_run_bytes [expr {int([lindex $now 3]) & 0xffffffff}]
                set whole_run [expr {round(($whole_run_bytes - 52.0 * $whole_run) / ($opt(packet) - 52))}]
            } elseif {![llength $senders($direction)]} {
                set whole_run 0
            }
            set delay [expr {$departed > 0 ? 1e3 * $waiting / $departed : 0.0}]
            set loss [expr {$arrived > 0 ? $dropped / $arrived : 0.0}]
            set utilisation [expr {$bytes * 8 / ($opt($direction-rate) * $measured)}]
            append out [format {, "%s": {"arrived_pkts": %.0f, "dropped_pkts": %.0f, "departed_pkts": %.0f, "whole_run_data_pkts": %d, "delay_ms": %.3f, "utilisation": %.4f, "loss": %.5f}} \
                $direction $arrived $dropped $departed $whole_run $delay $utilisation $loss]
        }
    }
    puts "{$out}"
    exit 0
}
if {$opt(monitor)} {
    snapshot
    $ns at $opt(warmup) snapshot
}
$ns at $opt(duration) report
set began [clock microseconds]
$ns run
