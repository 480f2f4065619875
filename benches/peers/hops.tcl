# Paths with several queues for ns-2.35: a parking lot, or senders behind access links.
#
#   ns hops.tcl key value …             (keys: the array below; prints one JSON line)
#
# shape parking: hops in a row with `rates` and `buffers` (lists), each of them `hop-delay` long one way; `long` flows
# over all, `cross` flows over each (a number, or a list with one for each hop). Hosts are `host-delay` away.
# shape access: `flows` senders, each behind a link of its own (`access-rate`, `access-delay`), then one hop.
# Data packets are 1502 bytes. A limit of N holds N - 1 packets: buffers are given as ns-2 takes them. Delays are the
# time integral of the packets waiting divided by the departures, up to the start of transmission.
#
# `reset-rto true` ends a timer's back-off with any sample of the round trip, as Linux does; ns-2 waits for new data.
#
# What moves phases, to see what hangs on them: `overhead` (a random time of at most that before each packet of a
# sender), `spread` (hosts are farther by up to that, drawn for each), `ack` (bytes), `tcp` (sack1, or linux: the
# port of Linux's TCP with Reno).

array set opt {
    shape parking     rates {10e6 10e6 10e6}   buffers {25 25 25}   hop-delay 0.010   long 4   cross 4
    host-delay 0.001  host-rate 10e9   flows 20  access-rate 10e6  access-delay 0.010  access-limit 1000
    tcp sack1         iw 3      data 1450       options 12       ack 52
    delack 0.040      min-rto 0.2  timestamps true   overhead 0   spread 0   start-within 2   partial ""   reset-rto false
    warmup 30         duration 150   seed 1
}
foreach {key value} $argv {
    if {![info exists opt($key)]} { puts stderr "hops.tcl: unknown key '$key'"; exit 2 }
    set opt($key) $value
}
set hops [llength $opt(rates)]
if {[llength $opt(cross)] == 1} { set opt(cross) [lrepeat $hops $opt(cross)] }

ns-random $opt(seed)
set starts [new RNG]
$starts seed $opt(seed)
$starts next-substream
set places [new RNG]
$places seed $opt(seed)
$places next-substream
$places next-substream

remove-all-packet-headers
add-packet-header IP TCP Flags

Agent/TCP set window_ 100000
Agent/TCP set maxburst_ 0
Agent/TCP set packetSize_ $opt(data)
Agent/TCP set tcpip_base_hdr_size_ 40
Agent/TCP set ts_option_size_ $opt(options)
Agent/TCP set tcpTick_ 0.001
Agent/TCP set minrto_ $opt(min-rto)
Agent/TCP set overhead_ $opt(overhead)
Agent/TCP set windowInit_ $opt(iw)
Agent/TCP set windowInitOption_ 1
Agent/TCP set timestamps_ $opt(timestamps)
Agent/TCP set ts_resetRTO_ $opt(reset-rto)
if {$opt(partial) ne ""} { Agent/TCP/Sack1 set partial_ack_ $opt(partial) }
Agent/TCPSink set ts_echo_rfc1323_ true
Agent/TCPSink set packetSize_ $opt(ack)
Agent/TCPSink/Sack1/DelAck set interval_ $opt(delack)

set ns [new Simulator]
for {set i 0} {$i <= $hops} {incr i} { set node($i) [$ns node] }
for {set i 0} {$i < $hops} {incr i} {
    set j [expr {$i + 1}]
    $ns duplex-link $node($i) $node($j) [lindex $opt(rates) $i] $opt(hop-delay) DropTail
    $ns queue-limit $node($i) $node($j) [lindex $opt(buffers) $i]
    $ns queue-limit $node($j) $node($i) [lindex $opt(buffers) $i]
    set monitor($i) [$ns monitor-queue $node($i) $node($j) "" 0]
}

# A host of its own for each end of a flow.
proc host {gateway rate delay limit} {
    global ns opt places
    set host [$ns node]
    $ns duplex-link $host $gateway $rate [expr {$delay + ($opt(spread) > 0 ? [$places uniform 0 $opt(spread)] : 0)}] DropTail
    $ns queue-limit $host $gateway $limit
    $ns queue-limit $gateway $host $limit
    return $host
}
proc flow {from to class} {
    global ns opt starts senders
    if {$opt(tcp) eq "linux"} { set tcp [new Agent/TCP/Linux] } else { set tcp [new Agent/TCP/Sack1] }
    set sink [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $from $tcp
    $ns attach-agent $to $sink
    $ns connect $tcp $sink
    if {$opt(tcp) eq "linux"} { $ns at 0 "$tcp select_ca reno" }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$starts uniform 0 $opt(start-within)] "$ftp start"
    lappend senders($class) $tcp
}
set fast $opt(host-rate)
if {$opt(shape) eq "access"} {
    for {set k 0} {$k < $opt(flows)} {incr k} {
        set from [host $node(0) $opt(access-rate) $opt(access-delay) $opt(access-limit)]
        flow $from [host $node($hops) $fast $opt(host-delay) 100000] all
    }
} else {
    for {set k 0} {$k < $opt(long)} {incr k} {
        flow [host $node(0) $fast $opt(host-delay) 100000] [host $node($hops) $fast $opt(host-delay) 100000] long
    }
    for {set i 0} {$i < $hops} {incr i} {
        for {set k 0} {$k < [lindex $opt(cross) $i]} {incr k} {
            set from [host $node($i) $fast $opt(host-delay) 100000]
            flow $from [host $node([expr {$i + 1}]) $fast $opt(host-delay) 100000] cross$i
        }
    }
}

proc total {class name} {
    global senders
    set sum 0
    foreach tcp $senders($class) { incr sum [$tcp set $name] }
    return $sum
}
proc counters {i} {
    global monitor
    set m $monitor($i)
    set waiting [$m get-pkts-integrator]
    $waiting newpoint [[Simulator instance] now] [$waiting set lasty_]
    return [list [$m set parrivals_] [$m set pdrops_] [$m set pdepartures_] [$m set bdepartures_] [$waiting set sum_]]
}
set counted {ack_ ndatapack_ nrexmitpack_ nrexmit_ ncwndcuts_}
proc snapshot {} {
    global before hops senders counted
    for {set i 0} {$i < $hops} {incr i} { set before(hop$i) [counters $i] }
    foreach class [array names senders] { foreach name $counted { set before($class,$name) [total $class $name] } }
}
proc report {} {
    global opt before hops senders counted
    set measured [expr {$opt(duration) - $opt(warmup)}]
    set out "\"peer\": \"ns2\", \"seed\": $opt(seed)"
    for {set i 0} {$i < $hops} {incr i} {
        foreach name {arrived dropped departed bytes waiting} a $before(hop$i) b [counters $i] { set $name [expr {double($b - $a)}] }
        # ns-2 counts bytes in 32 bits: departures have one size.
        set bits [expr {$departed * ($opt(data) + $opt(options) + 40) * 8}]
        append out [format {, "hop%d": {"delay": %.3f, "utilisation": %.5f, "loss": %.6f, "arrived": %.0f}} $i \
            [expr {1e3 * $waiting / $departed}] [expr {$bits / ([lindex $opt(rates) $i] * $measured)}] [expr {$dropped / $arrived}] $arrived]
    }
    foreach class [lsort [array names senders]] {
        foreach name $counted { set $name [expr {[total $class $name] - $before($class,$name)}] }
        append out [format {, "%s": {"goodput_bps": %.0f, "sent": %d, "resent": %d, "timeouts": %d, "cuts": %d}} $class \
            [expr {$ack_ * $opt(data) * 8.0 / $measured}] $ndatapack_ $nrexmitpack_ $nrexmit_ $ncwndcuts_]
    }
    puts "{$out}"
    exit 0
}
snapshot
$ns at $opt(warmup) snapshot
$ns at $opt(duration) report
$ns run
