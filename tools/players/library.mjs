// The libraries' own rules, driven by what a viewing of ours has seen: prints the level that each would have fetched.
//
//   node library.mjs LIBRARY WHERE < viewing.json
//
// LIBRARY is dash.js, shaka or hls.js; WHERE the folder with its source (dash.js: a checkout with its dependencies) or the
// package (the others). Of dash.js the rules, the throughput and the history of switches are its own, and the loop around
// them (ScheduleController, AbrController) is followed here.

import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';

const [library, where] = process.argv.slice(2);
const viewing = JSON.parse(readFileSync(0, 'utf8'));
const { rates_kbps: rates, segment_s: seconds, segments: rows } = viewing;
let clock = 0;
globalThis.window = globalThis.self = globalThis;
const here = (file) => import(pathToFileURL(`${where}/${file}`).href);
// Seconds of video in the buffer when segment `i` is here.
const after = (i) => rows[i].buffer_after_s;

async function dash() {
  Date.now = () => clock * 1000;
  const factory = (await here('src/core/FactoryMaker.js')).default;
  const load = async (file) => (await here(`src/streaming/${file}`)).default;
  const Settings = (await here('src/core/Settings.js')).default;
  const EventBus = (await here('src/core/EventBus.js')).default;
  const Events = (await here('src/core/events/Events.js')).default;
  const PlayerEvents = await load('MediaPlayerEvents.js');
  const CoreEvents = (await here('src/core/events/CoreEvents.js')).default;
  Events.extend(CoreEvents);
  const context = {};
  const settings = Settings(context).getInstance();
  const bus = EventBus(context).getInstance();
  const streamInfo = { id: 's', manifestInfo: { isDynamic: false, duration: viewing.length_s } };
  const mediaInfo = { id: 'm', type: 'video', streamInfo };
  const levels = rates.map((kbps, i) => ({
    id: `${i}`, absoluteIndex: i, bandwidth: kbps * 1000, bitrateInKbit: kbps, fragmentDuration: seconds, segmentDuration: seconds, mediaInfo,
  }));
  let buffer = 0, delay = 0, current = null;
  const top = levels[levels.length - 1];
  const carried = (kbps) => levels.filter((level) => level.bitrateInKbit <= kbps).pop() ?? levels[0];
  const abr = {
    getPossibleVoRepresentationsFilteredBySettings: () => levels,
    getOptimalRepresentationForBitrate: (_, kbps) => carried(kbps),
    isPlayingAtTopQuality: (level) => level.id === top.id,
    getAbandonmentStateFor: () => 'allowload',
  };
  await load('controllers/AbrController.js');
  factory.setSingletonInstance(context, 'AbrController', abr);
  const dashMetrics = {
    getCurrentBufferLevel: () => buffer,
    getCurrentBufferState: () => ({ state: buffer > settings.get().streaming.buffer.stallThreshold ? 'bufferLoaded' : 'bufferStalled' }),
  };
  const buffering = settings.get().streaming.buffer;
  const mediaPlayerModel = { getBufferTimeDefault: () => buffering.bufferTimeDefault };
  const playback = { getIsDynamic: () => false, getLowLatencyModeEnabled: () => false };
  const rules = (await load('rules/abr/ABRRulesCollection.js'))(context).create({
    dashMetrics, mediaPlayerModel, settings, customParametersModel: { getAbrCustomRules: () => [] },
  });
  rules.initialize();
  const throughput = (await load('controllers/ThroughputController.js'))(context).getInstance();
  throughput.setConfig({ settings, playbackController: playback });
  throughput.initialize();
  const history = (await load('rules/SwitchRequestHistory.js'))(context).create();
  const RulesContext = await load('rules/RulesContext.js');
  const schedule = { setTimeToLoadDelay: (ms) => { delay = ms / 1000; }, getPlaybackController: () => playback };
  const check = () => {
    const rulesContext = RulesContext(context).create({
      abrController: abr, throughputController: throughput, switchRequestHistory: history,
      streamProcessor: { getScheduleController: () => schedule, getRepresentation: () => current },
    });
    const wanted = rules.getBestPossibleSwitchRequest(rulesContext);
    if (!wanted || !wanted.representation) return false;
    const next = wanted.representation;
    history.push({ currentRepresentation: current, newRepresentation: next });
    if (next.id === current.id) return false;
    bus.trigger(PlayerEvents.QUALITY_CHANGE_REQUESTED, { streamId: 's', mediaType: 'video', newRepresentation: next, oldRepresentation: current });
    current = next;
    return true;
  };
  const target = () => {
    if (current.id !== top.id) return buffering.bufferTimeDefault;
    const long = viewing.length_s >= buffering.longFormContentDurationThreshold;
    return long ? buffering.bufferTimeAtTopQualityLongForm : buffering.bufferTimeAtTopQuality;
  };
  const level = (seen) => {
    buffer = seen;
    const on = buffering.bufferTimeDefault;
    rules.setBolaState('video', buffer >= (rules.getBolaState('video') ? 0.5 * on : on));
  };
  current = carried(1000); // DEFAULT_VIDEO_BITRATE
  const found = [current.absoluteIndex + 1];
  for (let i = 0; i + 1 < rows.length; i++) {
    const row = rows[i];
    current = levels[row.level - 1]; // what was fetched, so that one difference does not make others
    const time = (s) => ({ getTime: () => s * 1000 });
    clock = row.arrive_s;
    level(Math.max(after(i) - seconds, 0));
    if (buffer <= buffering.stallThreshold && i > 0) bus.trigger(PlayerEvents.BUFFER_EMPTY, { mediaType: 'video', streamId: 's' });
    bus.trigger(PlayerEvents.METRIC_ADDED, {
      metric: 'HttpList', mediaType: 'video', value: {
        type: 'MediaSegment', trace: [{}], _streamId: 's', trequest: time(row.request_s), tresponse: time(row.first_byte_s), _tfinish: time(row.arrive_s),
        _resourceTimingValues: { transferSize: row.bytes, decodedBodySize: row.bytes, responseStart: row.first_byte_s * 1000, responseEnd: row.arrive_s * 1000 },
      },
    });
    bus.trigger(Events.MEDIA_FRAGMENT_LOADED, { streamId: 's', chunk: { start: i * seconds, duration: seconds, representation: current } });
    bus.trigger(Events.BYTES_APPENDED_END_FRAGMENT, { startTime: i * seconds, mediaType: 'video' });
    level(after(i));
    const most = target() > seconds ? target() - seconds : target();
    if (buffer > most) { // the buffer is asked for again and again; here at once when it is below the target
      clock += buffer - most;
      level(most);
    }
    check(); // once a segment: a change sets `shouldCheckPlaybackQuality` to false
    found.push(current.absoluteIndex + 1);
  }
  return found;
}

async function hls() {
  const { default: Hls, AbrController } = await here('dist/hls.mjs');
  const level = (kbps) => ({
    bitrate: kbps * 1000, maxBitrate: kbps * 1000, averageBitrate: kbps * 1000, codecSet: 'avc1', videoCodec: 'avc1', audioCodec: 'mp4a', codecs: 'avc1,mp4a',
    videoRange: 'SDR', frameRate: 30, width: 640, height: 360, score: 0, loadError: 0, fragmentError: 0, audioGroups: undefined, attrs: {},
    details: { live: false, averagetargetduration: seconds, partTarget: 0 }, supportedResult: { supported: true, decodingInfoResults: [] },
  });
  const silent = new Proxy({}, { get: () => () => {} });
  const player = {
    config: { ...Hls.DefaultConfig, useMediaCapabilities: false }, on() {}, off() {}, trigger() {}, logger: silent, levels: rates.map(level), firstLevel: 0,
    minAutoLevel: 0, maxAutoLevel: rates.length - 1, media: { playbackRate: 1 }, mainForwardBufferInfo: null, latestLevelDetails: { live: false },
    loadLevel: 0, allAudioTracks: [], audioTracks: [], autoLevelEnabled: true,
    get loadLevelObj() { return this.levels[this.loadLevel]; },
  };
  const controller = new AbrController(player);
  player.media = null;
  const found = [];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i];
    player.media = { playbackRate: 1 };
    player.mainForwardBufferInfo = { len: row.buffer_before_s };
    found.push(controller.nextAutoLevel + 1);
    player.loadLevel = row.level - 1;
    const stats = {
      loaded: row.bytes, total: row.bytes, aborted: false, loading: { start: row.request_s * 1000, first: row.first_byte_s * 1000, end: row.arrive_s * 1000 },
      parsing: { start: row.arrive_s * 1000, end: row.arrive_s * 1000 }, buffering: { end: row.arrive_s * 1000 },
    };
    const frag = { type: 'main', sn: i, level: row.level - 1, duration: seconds, stats, bitrate: rates[row.level - 1] * 1000, bitrateTest: false };
    controller.fragCurrent = frag;
    controller.onFragLoaded('hlsFragLoaded', { frag, part: null });
    controller.onFragBuffered('hlsFragBuffered', { frag, part: null, stats });
  }
  return found;
}

async function shaka() {
  globalThis.document = { createElement: () => ({ canPlayType: () => '', style: {} }), addEventListener() {}, documentElement: {}, head: {} };
  globalThis.navigator ??= { userAgent: '', connection: null };
  Date.now = () => clock * 1000;
  const shaka = createRequire(import.meta.url)(`${where}/dist/shaka-player.compiled.debug.js`);
  const manager = new shaka.abr.SimpleAbrManager();
  const all = { minWidth: 0, maxWidth: Infinity, minHeight: 0, maxHeight: Infinity, minPixels: 0, maxPixels: Infinity, minBandwidth: 0, maxBandwidth: Infinity };
  manager.configure({
    enabled: true, useNetworkInformation: false, defaultBandwidthEstimate: 1e6, switchInterval: 8, bandwidthUpgradeTarget: 0.85, bandwidthDowngradeTarget: 0.95,
    restrictions: { ...all, minFrameRate: 0, maxFrameRate: Infinity, minChannelsCount: 0, maxChannelsCount: Infinity }, restrictToElementSize: false,
    restrictToScreenSize: false, ignoreDevicePixelRatio: false, clearBufferSwitch: false, safeMarginSwitch: 0, cacheLoadThreshold: 5, minTimeToSwitch: 0,
    advanced: { minTotalBytes: 128e3, minBytes: 16e3, fastHalfLife: 2, slowHalfLife: 5 }, droppedFramesThreshold: 0, preferNetworkInformationBandwidth: false,
  });
  let current = null;
  manager.init((variant) => { current = variant; }, () => {});
  manager.setVariants(rates.map((kbps, i) => ({ id: i, bandwidth: kbps * 1000, video: null, audio: null })));
  current = manager.chooseVariant();
  manager.enable();
  const found = [];
  for (const row of rows) {
    found.push(current.id + 1);
    clock = row.arrive_s;
    manager.segmentDownloaded((row.arrive_s - row.request_s) * 1000, row.bytes, true);
  }
  return found;
}

console.log(JSON.stringify(await { 'dash.js': dash, 'hls.js': hls, shaka }[library]()));
process.exit(0);
