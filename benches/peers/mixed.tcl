# The study of active queue management on slow links, for ns-2.35: four long flows beside web, video and voice.
#
#   ns mixed.tcl key value …            (keys: the array below; prints one JSON line)
#
# Senders 1 to 3, gateways 4 and 5, receivers 6 to 8, as the study has them: round trips of 10, 100 and 300 ms. Two long
# flows and one web load are near, two and one are far, video and calls are between. Sizes are as ns-2 counts them: TCP
# data of 1024 bytes take 1064 on the link. Web is PackMime's, with responses of an exponential size if web-mean is not 0.
# The video is a file of packets (microseconds since the packet before and bytes, 32 bits each in network order).
# Delays are the time integral of the packets waiting divided by the departures (Little's law), up to the start of
# transmission.

array set opt {
    queue DropTail    limit 100       target 0.010    rate 2e6        duration 200    warmup 20       seed 1
    delack 0          pauses 1        web-rate 4      web-mean 1400   video ""        mean-packet 500
    module ""         pie-update 0.030                 pie-burst 0.1   pie-mean 1000   pie-bytes 1     pie-by-size 0
    access 100e6      window 10000
}
foreach {key value} $argv {
    if {![info exists opt($key)]} { puts stderr "mixed.tcl: unknown key '$key'"; exit 2 }
    set opt($key) $value
}
# A queue that the package lacks, as a Tcl extension.
if {$opt(module) ne ""} { load $opt(module) Pie }

ns-random $opt(seed)
# A random stream of its own, at the seed's place.
proc stream {} {
    global opt
    set rng [new RNG]
    for {set i 0} {$i < $opt(seed)} {incr i} { $rng next-substream }
    return $rng
}
set draw [stream]

remove-all-packet-headers
add-packet-header IP TCP Flags RTP
set ns [new Simulator]
$ns use-scheduler Heap

Agent/TCP set window_ $opt(window)
Agent/TCP set packetSize_ 1024
Agent/TCP set tcpTick_ 0.001
Agent/TCP set windowInit_ 3
Agent/TCP set windowInitOption_ 1
Agent/TCPSink/Sack1/DelAck set interval_ 0.040
Agent/TCP/FullTcp set segsize_ 1024
Agent/TCP/FullTcp set segsperack_ [expr {$opt(delack) ? 2 : 1}]
Agent/TCP/FullTcp set interval_ 0.040
Queue/RED set adaptive_ 1
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set thresh_ 0
Queue/RED set maxthresh_ 0
Queue/RED set q_weight_ -1
Queue/RED set gentle_ true
Queue/RED set mean_pktsize_ $opt(mean-packet)
Queue/RED set targetdelay_ $opt(target)
if {$opt(queue) eq "PIE"} {
    foreach {key value} [list a_ 0.125 b_ 1.25 tUpdate_ $opt(pie-update) qdelay_ref_ $opt(target) \
            mean_pktsize_ $opt(pie-mean) burst_allowance_ $opt(pie-burst) dq_threshold_ 10000 \
            bytes_ $opt(pie-by-size) queue_in_bytes_ $opt(pie-bytes)] { Queue/PIE set $key $value }
}

for {set i 1} {$i <= 8} {incr i} { set n($i) [$ns node] }
foreach {i delay} {1 0.0025 2 0.0025 3 0.0025} { $ns duplex-link $n($i) $n(4) $opt(access) $delay DropTail }
foreach {i delay} {6 0.0025 7 0.0475 8 0.1475} { $ns duplex-link $n(5) $n($i) $opt(access) $delay DropTail }
foreach i {1 2 3} { $ns queue-limit $n($i) $n(4) 10000; $ns queue-limit $n(4) $n($i) 10000 }
foreach i {6 7 8} { $ns queue-limit $n($i) $n(5) 10000; $ns queue-limit $n(5) $n($i) 10000 }
$ns simplex-link $n(4) $n(5) $opt(rate) 0 $opt(queue)
$ns simplex-link $n(5) $n(4) $opt(rate) 0 DropTail
$ns queue-limit $n(4) $n(5) $opt(limit)
$ns queue-limit $n(5) $n(4) 100
set monitor(down) [$ns monitor-queue $n(4) $n(5) "" 0]
set monitor(up) [$ns monitor-queue $n(5) $n(4) "" 0]

set senders {}
proc long {from to} {
    global ns n opt draw senders
    set tcp [new Agent/TCP/Sack1]
    set sink [new [expr {$opt(delack) ? "Agent/TCPSink/Sack1/DelAck" : "Agent/TCPSink/Sack1"}]]
    $ns attach-agent $n($from) $tcp
    $ns attach-agent $n($to) $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$draw uniform 0 1] "$ftp start"
    lappend senders $tcp
}
proc web {from to} {
    global ns n opt
    set load [new PackMimeHTTP]
    $load set-client $n($to)
    $load set-server $n($from)
    $load set-TCP Sack
    $load set-rate $opt(web-rate)
    $load set-warmup 0
    set arrivals [new RandomVariable/PackMimeHTTPFlowArrive $opt(web-rate)]
    $arrivals use-rng [stream]
    set requests [new RandomVariable/PackMimeHTTPFileSize $opt(web-rate) 0]
    $requests use-rng [stream]
    if {$opt(web-mean)} {
        set responses [new RandomVariable/Exponential]
        $responses set avg_ $opt(web-mean)
    } else {
        set responses [new RandomVariable/PackMimeHTTPFileSize $opt(web-rate) 1]
    }
    $responses use-rng [stream]
    $load set-flow_arrive $arrivals
    $load set-req_size $requests
    $load set-rsp_size $responses
    $ns at 0 "$load start"
}
proc datagrams {from to source} {
    global ns n draw
    set udp [new Agent/UDP]
    $udp set packetSize_ 2000
    set null [new Agent/Null]
    $ns attach-agent $n($from) $udp
    $ns attach-agent $n($to) $null
    $ns connect $udp $null
    $source attach-agent $udp
    $ns at [$draw uniform 0 1] "$source start"
}
proc speech {} {
    global opt
    if {$opt(pauses)} {
        set source [new Application/Traffic/Exponential]
        $source set burst_time_ 1.004
        $source set idle_time_ 1.587
        $source use-rng [stream]
    } else {
        set source [new Application/Traffic/CBR]
    }
    $source set packetSize_ 60
    $source set rate_ 24k
    return $source
}
foreach i {1 2} { long 1 6; long 3 8 }
if {$opt(web-rate)} { web 1 6; web 3 8 }
for {set i 0} {$i < 3} {incr i} { datagrams 2 7 [speech]; datagrams 7 2 [speech] }
if {$opt(video) ne ""} {
    set trace [new Tracefile]
    $trace filename $opt(video)
    set source [new Application/Traffic/Trace]
    $source attach-tracefile $trace
    datagrams 2 7 $source
}

proc counters {direction} {
    global monitor
    set m $monitor($direction)
    set waiting [$m get-pkts-integrator]
    $waiting newpoint [[Simulator instance] now] [$waiting set lasty_]
    return [list [$m set parrivals_] [$m set pdrops_] [$m set pdepartures_] [$m set bdepartures_] [$waiting set sum_]]
}
proc snapshot {} {
    global before senders
    foreach direction {down up} { set before($direction) [counters $direction] }
    set before(acked) 0
    foreach tcp $senders { incr before(acked) [$tcp set ack_] }
}
proc report {} {
    global opt before senders began
    set measured [expr {$opt(duration) - $opt(warmup)}]
    set acked [expr {-$before(acked)}]
    foreach tcp $senders { incr acked [$tcp set ack_] }
    set out "\"peer\": \"ns2\", \"wall_s\": [format %.4f [expr {([clock microseconds] - $began) / 1e6}]]"
    append out ", \"simulated_s\": $opt(duration), \"long_goodput_bps\": [format %.0f [expr {$acked * 1024 * 8.0 / $measured}]]"
    foreach direction {down up} {
        foreach name {arrived dropped departed bytes waiting} a $before($direction) b [counters $direction] {
            set $name [expr {double($b - $a)}]
        }
        set delay [expr {$departed > 0 ? 1e3 * $waiting / $departed : 0.0}]
        set loss [expr {$arrived > 0 ? $dropped / $arrived : 0.0}]
        append out [format {, "%s": {"arrived_pkts": %.0f, "dropped_pkts": %.0f, "departed_pkts": %.0f, "departed_bytes": %.0f, "delay_ms": %.3f, "utilisation": %.4f, "loss": %.5f}} \
            $direction $arrived $dropped $departed $bytes $delay [expr {$bytes * 8 / ($opt(rate) * $measured)}] $loss]
    }
    puts "{$out}"
    exit 0
}
$ns at $opt(warmup) snapshot
$ns at $opt(duration) report
set began [clock microseconds]
$ns run
