import { readFileSync } from 'node:fs'
import type { AgentEvent } from '@meanwhile/core'
import { guard, redact } from '@meanwhile/middleware'
import { played } from '@meanwhile/tests/clock'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Around, everything, LIMIT, marked, type Place, type Seen } from './everything.ts'
import { CONTENT, type Content, type Masks, PROTECTION, type Row } from './protection.ts'
import { pageTables } from './protection-page.ts'

// What protects sees everything: each cell of the table is tried in runs that emit every type of event, with a mark for each kind of content.

const KINDS = Object.keys(CONTENT) as Content[]
const ROWS = Object.entries(PROTECTION) as [AgentEvent['type'], Row][]
const PLACES: readonly Place[] = ['own', 'inside']
const PATTERNS = [{ kind: 'mark', pattern: /mark_[a-z]+/ }]

/** The runs are made once for each protection, when the first cell needs them. */
function once(around: () => Around, length: 'short' | 'long' = 'short'): (place: Place) => Promise<Seen> {
  const made = new Map<Place, Promise<Seen>>()
  return (place) => {
    const seen = made.get(place) ?? everything(around(), place, length)
    made.set(place, seen)
    return seen
  }
}

const bare = once(() => ({}))
const live = once(() => ({ protecting: [redact({ patterns: PATTERNS })] }))
const persisting = once(() => ({ protecting: [redact({ patterns: PATTERNS, persist: true })] }))
const unlimited = once(() => ({}), 'long')
const limitedInputs = once(() => ({ inputLimits: { characters: LIMIT } }), 'long')
const limitedOutputs = once(() => ({ outputLimits: { characters: LIMIT } }), 'long')

/** The content of the events of a type. Deltas are read as one text. */
function saidIn({ events }: Seen, type: AgentEvent['type']): string {
  const ofType = events.filter((event) => event.type === type)
  return ofType.map((event) => ('delta' in event ? event.delta : JSON.stringify(event))).join('')
}

function kindsIn(text: string): Content[] {
  return KINDS.filter((content) => text.includes(marked(content)))
}

test.each(ROWS)('%s is emitted, and carries what its row says (W45, N56)', async (type, row) => {
  for (const place of PLACES) {
    const seen = await bare(place)
    const isEmitted = seen.events.some((event) => event.type === type)
    expect([place, isEmitted]).toEqual([place, place === 'own' || type !== 'question'])
    expect(new Set(kindsIn(saidIn(seen, type)))).toEqual(new Set(Object.keys(row[place])))
  }
})

interface Cell {
  readonly type: AgentEvent['type']
  readonly place: Place
  readonly content: Content
  readonly masks: Masks
}

const CELLS = ROWS.flatMap(([type, row]) =>
  PLACES.flatMap((place) =>
    KINDS.flatMap((content): Cell[] => {
      const masks = row[place][content]
      return masks ? [{ type, place, content, masks }] : []
    }),
  ),
)

test.each(CELLS)('$type ($place): $content is masked by redact, by persist, or never: $masks (N56)', async (cell) => {
  const { type, place, content, masks } = cell
  const isShown = async (seen: Promise<Seen>) => saidIn(await seen, type).includes(marked(content))
  expect({ redact: await isShown(live(place)), persist: await isShown(persisting(place)) }).toEqual({
    redact: masks !== 'redact',
    persist: masks === 'never',
  })
})

test.each(CELLS)('$type ($place): $content obeys its limit, if it has one (W45, G14, P10)', async (cell) => {
  const { type, place, content } = cell
  const isWhole = async (seen: Promise<Seen>) => saidIn(await seen, type).includes(marked(content, 'long'))
  const { limit } = CONTENT[content]
  const limited = limit === 'inputLimits' && place === 'own' ? limitedInputs : limitedOutputs
  // An agent inside has its own limits for inputs and results. What it tells besides obeys the limits around it, too.
  const isBounded = place === 'own' ? limit !== 'none' : TOLD.includes(content)
  const expected = limit === 'always' ? [false, false] : [true, !isBounded]
  expect([await isWhole(unlimited(place)), await isWhole(limited(place))]).toEqual(expected)
})

const TOLD: readonly Content[] = ['progress', 'custom', 'question']

test('while the check of a guard with hold is open, only events without content of the response are shown (GD3)', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const seen: AgentEvent[] = []
  const before = new Set<AgentEvent['type']>()
  const held = guard({
    hold: true,
    async input(_, { run }) {
      await new Promise((resolve) => setTimeout(resolve, 9_000))
      for (const { runId, type } of seen) if (runId === run.id) before.add(type)
      return { pass: true }
    },
  })
  // A cancel ends its run although the check is open.
  const isCancelled = (event: AgentEvent) => event.type === 'run-end' && event.result.status === 'cancelled'
  const told = (event: AgentEvent) => void (isCancelled(event) || seen.push(event))
  await played(everything({ protecting: [held], told }, 'own'))
  expect([...before].sort()).toEqual(ROWS.flatMap(([type, row]) => (row.held ? [] : [type])).sort())
})

test.each(KINDS)(
  '%s is in spans if content is captured and the table has it, and redact masks it there (N58)',
  async (content) => {
    expect(kindsIn(await spansOf(true)).includes(content)).toBe(CONTENT[content].spans)
    expect(await spansOf(true, true)).not.toContain(marked(content))
    expect(await spansOf(false)).not.toContain(marked(content))
  },
)

const spans = new Map<string, Promise<string>>()

/** The content of the spans of all runs. */
function spansOf(captureContent: boolean, isMasked = false): Promise<string> {
  const key = `${captureContent} ${isMasked}`
  const made = spans.get(key) ?? recorded(captureContent, isMasked)
  spans.set(key, made)
  return made
}

async function recorded(captureContent: boolean, isMasked: boolean): Promise<string> {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const protecting = isMasked ? [redact({ patterns: PATTERNS })] : []
  await everything({ telemetry: { tracerProvider, captureContent }, protecting }, 'own')
  const finished = exporter.getFinishedSpans()
  return JSON.stringify(finished.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })))
}

test('with persist, a result has no secret except in its questions, which run as they are asked (N56)', async () => {
  const { results } = await persisting('own')
  for (const { messages, warnings, text } of results)
    expect(kindsIn(JSON.stringify({ messages, warnings, text }))).toEqual([])
})

test('the page has these tables (W45)', () => {
  const page = readFileSync(new URL('../../../docs/guards.md', import.meta.url), 'utf8')
  for (const table of pageTables()) expect(page).toContain(table)
})
