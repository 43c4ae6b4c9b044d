/**
 * 500 checkpoints of runs of the re-entrancy play, with the outcome of a resume of each: `node --conditions=@meanwhile/source
 * test/reentrant-checkpoints.ts --write` makes them, if they are missing. The checkpoints never change, so that later versions must resume
 * them.
 * `--trace` rewrites the outcomes of the resumes, if a decision has changed them, and prints how many changed.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { Checkpoint } from '../src/index.ts'
import { difference } from './compare/difference.ts'
import { type Trace, type TracedEvent, traceOf } from './compare/trace.ts'
import { countRuns } from './counted-runs.ts'
import { lives } from './reentrant-lives.ts'
import { Play } from './reentrant-play.ts'
import { type Scenario, scenarios } from './reentrant-scenario.ts'
import { StandingClock } from './standing-clock.ts'

/** The formats with pinned checkpoints. */
export const FORMATS = [1] as const
export type Format = (typeof FORMATS)[number]

const NEWEST: Format = 1
const COUNT = 500

function fileOf(format: Format): URL {
  return new URL(`../test-data/checkpoints/format-${format}-reentrancy.json.gz`, import.meta.url)
}

export interface Pinned {
  /** What acts on the resumed run: the works and turns of the earlier run, and new acts. */
  readonly scenario: Scenario
  readonly checkpoint: Checkpoint
  readonly trace: Trace
}

/** An infinite limit is `null` in JSON. */
export function pinnedCheckpoints(format: Format): readonly Pinned[] {
  const pinned = JSON.parse(gunzipSync(readFileSync(fileOf(format))).toString()) as Pinned[]
  return pinned.map(({ scenario, ...rest }) => ({
    ...rest,
    scenario: { ...scenario, toolConcurrency: scenario.toolConcurrency ?? Number.POSITIVE_INFINITY },
  }))
}

/** The outcome of a run that is resumed from this checkpoint, and of all its resumes. */
export async function resumedTrace({ scenario, checkpoint }: Omit<Pinned, 'trace'>, clock: StandingClock) {
  clock.reset()
  const uncount = countRuns(1_000)
  // Only the caller has the checkpoint: no store contains it.
  const alone = { ...scenario, stored: false }
  const play = new Play(alone)
  try {
    return inShort(JSON.parse(await traceOf(lives(play, alone, clock, checkpoint), play.deeds)) as Trace)
  } finally {
    uncount()
  }
}

/** Without pieces of responses, checkpoints, and messages that are also in the result. */
function inShort({ lives, ...rest }: Trace): Trace {
  const short = lives.map(({ events, end }) => ({
    events: events.flatMap(([at, event]) => (LEFT_OUT.has(event.type) ? [] : [[at, bare(event)] as const])),
    end: { ...Object(end), settled: undefined },
  }))
  return { ...rest, lives: short }
}

const bare = (event: TracedEvent): TracedEvent => (event.type === 'step-end' ? { ...event, messages: [] } : event)

const LEFT_OUT: ReadonlySet<string> = new Set([
  'text-delta',
  'tool-input-start',
  'tool-input-delta',
  'tool-input-closed',
  'tool-call',
  'message',
  'history-replaced',
])

/** The last checkpoint of a run that has calls or other work that is not over, at one of its scenario's first two stops. */
async function stoppedIn(scenario: Scenario, clock: StandingClock): Promise<Checkpoint | undefined> {
  clock.reset()
  countRuns()
  let last: Checkpoint | undefined
  let stops = 0
  for await (const { result } of lives(new Play(scenario), scenario, clock)) {
    if (result?.checkpoint && result.checkpoint.calls.length > 0) last = result.checkpoint
    if (++stops === 2) break
  }
  return last
}

async function write(): Promise<void> {
  const clock = new StandingClock()
  clock.install()
  const pinned: Pinned[] = []
  for (const scenario of fc.sample(scenarios, { seed: 17, numRuns: 5_000 })) {
    if (pinned.length === COUNT) break
    const checkpoint = await stoppedIn(scenario, clock)
    if (!checkpoint) continue
    pinned.push({ scenario, checkpoint, trace: await resumedTrace({ scenario, checkpoint }, clock) })
  }
  if (pinned.length < COUNT) throw new Error(`only ${pinned.length} runs were stopped`)
  writeFileSync(fileOf(NEWEST), gzipSync(JSON.stringify(pinned), { level: 9 }))
}

/** Rewrites the outcomes of resumes that differ from the stored ones. The checkpoints stay. */
async function trace(format: Format, clock: StandingClock): Promise<void> {
  const stored = JSON.parse(gunzipSync(readFileSync(fileOf(format))).toString()) as Pinned[]
  const now: Pinned[] = []
  for (const [index, one] of pinnedCheckpoints(format).entries()) {
    const trace = await resumedTrace(one, clock)
    const before = stored[index]
    if (before) now.push(difference(one.trace, trace) ? { ...before, trace } : before)
  }
  const changed = now.filter((one, index) => one !== stored[index]).length
  writeFileSync(fileOf(format), gzipSync(JSON.stringify(now), { level: 9 }))
  process.stdout.write(`format ${format}: ${changed} of ${now.length} traces were rewritten\n`)
}

if (process.argv.includes('--write') && !existsSync(fileOf(NEWEST))) await write()
if (process.argv.includes('--trace')) {
  const clock = new StandingClock()
  clock.install()
  for (const format of FORMATS) await trace(format, clock)
}
