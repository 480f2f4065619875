// The libraries' own rules of the playback rate of live streams: prints the rate that each sets in every case.
//
//   node catch_up.mjs LIBRARY WHERE < cases.json
//
// LIBRARY and WHERE are those of library.mjs. Each library's function is taken from its source by its name, and run with
// what it asks for: the video, the buffer, the latency, the configuration.

import { readFileSync } from 'node:fs';

const [library, where] = process.argv.slice(2);
const cases = JSON.parse(readFileSync(0, 'utf8'));

// From a source, the text from the place where a name is defined to the brace that closes it.
function taken(source, name) {
  const start = source.indexOf(name);
  if (start < 0) throw new Error(`${library} has no ${name}`);
  let depth = 0;
  for (let i = source.indexOf('{', source.indexOf(')', start)); i < source.length; i++) {
    depth += { '{': 1, '}': -1 }[source[i]] ?? 0;
    if (depth === 0) return source.slice(start, i + 1);
  }
  throw new Error(`${name} does not end`);
}

function dash() {
  const source = readFileSync(`${where}/src/streaming/controllers/CatchupController.js`, 'utf8');
  const names = ['_startPlaybackCatchUp', '_getLatencyDrift', '_getCatchupMode', '_calculateNewPlaybackRateDefault'];
  const text = names.map((name) => taken(source, `function ${name}(`)).join('\n');
  const make = new Function(
    'videoModel', 'playbackController', 'mediaPlayerModel', 'settings', 'playbackStalled',
    `let isCatchupSeekInProgress = false; const isSafari = false; const Constants = { LIVE_CATCHUP_MODE_LOLP: 'lolp', LIVE_CATCHUP_MODE_DEFAULT: 'default' };
     const logger = { info() {}, debug() {} }; ${text}; return _startPlaybackCatchUp;`,
  );
  return (of) => {
    let rate = of.rate;
    const video = { getPlaybackRate: () => rate, setPlaybackRate: (to) => { rate = to; } };
    const playback = {
      getBufferLevel: () => of.buffer_s, getCurrentLiveLatency: () => Math.round(of.latency_s * 1000) / 1000, getLiveDelay: () => of.target_s,
      getPlaybackStalled: () => false,
    };
    const model = { getCatchupPlaybackRates: () => ({ min: of.slowest - 1, max: of.fastest - 1 }), getCatchupMaxDrift: () => 12 };
    const settings = { get: () => ({ streaming: { liveCatchup: { playbackBufferMin: 0.5, mode: 'default' } } }) };
    make(video, playback, model, settings, of.buffer_s <= 0.3)();
    return rate;
  };
}

function hls() {
  const source = readFileSync(`${where}/dist/hls.mjs`, 'utf8');
  const start = source.indexOf('class LatencyController {');
  const text = source.slice(start, source.indexOf('\n}\n', start) + 2);
  const make = new Function('Events', 'ErrorDetails', 'interstitialsEnabled', `${text}; return LatencyController;`);
  const Controller = make({}, { BUFFER_STALLED_ERROR: 'stalled' }, () => false);
  return (of) => {
    const silent = { debug() {}, warn() {} };
    const details = { live: true, edge: 1000, age: 0, targetduration: of.segment_s, partTarget: of.chunk_s, partHoldBack: of.target_s, holdBack: 9, drift: 1 };
    const config = {
      lowLatencyMode: true, maxLiveSyncPlaybackRate: of.fastest, liveSyncDurationCount: 3, liveSyncOnStallIncrease: 1, liveMaxLatencyDurationCount: Infinity,
    };
    const controller = new Controller({ on() {}, off() {}, logger: silent, config, userConfig: {}, latestLevelDetails: details });
    const now = details.edge - of.latency_s;
    const video = { currentTime: now, playbackRate: of.rate, buffered: { length: 1, end: () => now + of.buffer_s }, addEventListener() {} };
    for (let i = 0; i < of.stalls; i++) controller.onError('error', { details: 'stalled' });
    controller.onMediaAttached('attached', { media: video });
    controller.onTimeupdate();
    return video.playbackRate;
  };
}

function shaka() {
  const text = taken(readFileSync(`${where}/lib/player.js`, 'utf8'), '  onTimeUpdate_() {').trim();
  const names = 'const shaka = { log: { debug() {} }, Player: { LoadMode: { SRC_EQUALS: 3 } } };';
  const { onTimeUpdate_ } = new Function(`${names} return { ${text} };`)();
  return (of) => {
    const end = 1000 - of.chunk_s; // of what is available
    const video = { playbackRate: of.rate, currentTime: 1000 - of.latency_s, paused: false };
    const liveSync = {
      enabled: true, targetLatency: of.target_s, targetLatencyTolerance: 0.5, maxPlaybackRate: of.fastest, minPlaybackRate: of.slowest, panicMode: false,
      panicThreshold: 60, dynamicTargetLatency: { enabled: false, stabilityThreshold: 60, rebufferIncrement: 0.5, maxAttempts: 10, maxLatency: 4, minLatency: 1 },
    };
    onTimeUpdate_.call({
      video_: video, config_: { streaming: { liveSync } }, loadMode_: 2, currentTargetLatency_: null, targetLatencyReached_: null, rebufferingCount_: 0,
      isDynamic: () => true, seekRange: () => ({ start: 0, end }), bufferObserver_: { getLastRebufferTime: () => 0 },
      playRateController_: { getDefaultRate: () => 1 }, trickPlay: (rate) => { video.playbackRate = rate; }, cancelTrickPlay: () => { video.playbackRate = 1; },
    });
    return video.playbackRate;
  };
}

const rate = { 'dash.js': dash, 'hls.js': hls, shaka }[library]();
console.log(JSON.stringify(cases.map(rate)));
