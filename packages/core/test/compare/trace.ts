/** What can be observed of a run and all its resumes, as JSON, with names instead of ids that are new each time. */

import type { AgentEvent, AgentResult } from '../../src/index.ts'

/** Something at a time of the clock: an event, or what a tool's function did. */
export type Timed<What> = readonly [at: number, what: What]

export interface Deed {
  readonly did: string
  readonly callId?: string
  readonly about: unknown
}

/** The last event contains the result, which is compared anyway. */
export type TracedEvent =
  | Exclude<AgentEvent, { readonly type: 'run-end' }>
  | Omit<Extract<AgentEvent, { readonly type: 'run-end' }>, 'result'>

export interface TracedLife {
  readonly events: readonly Timed<TracedEvent>[]
  /** Its result or its error, without the checkpoint. */
  readonly end: unknown
  readonly checkpoint?: unknown
}

export interface Trace {
  readonly lives: readonly TracedLife[]
  readonly deeds: readonly Timed<Deed>[]
  /** Why it was left before its end. */
  readonly left?: string
}

/** The outcome of a run, and its events with their times. */
interface Life {
  readonly events: readonly AgentEvent[]
  readonly times: readonly number[]
  readonly result?: AgentResult
  readonly error?: unknown
}

/** Records what a play does, and ends even if the play hangs. */
export async function traceOf(
  lives: AsyncIterable<Life>,
  deeds: readonly (Deed & { readonly at: number })[],
): Promise<string> {
  const names = new Map<string, string>()
  const traced: TracedLife[] = []
  let left: string | undefined
  try {
    for await (const life of lives) {
      for (const event of life.events) name(event, names)
      traced.push(tracedLife(life))
    }
  } catch (error) {
    left = error instanceof Error ? error.message : String(error)
  }
  const trace: Trace = {
    lives: traced,
    deeds: deeds.map(({ at, ...deed }) => [at, deed]),
    ...(left !== undefined && { left }),
  }
  return JSON.stringify(trace, withErrors)
    .replace(UUID, (id) => names.get(id) ?? id)
    .replace(RANDOM, '')
}

/** The random part of the id of a question. */
const RANDOM = /(?<=interrupt_\w+_93_)(_\d+){3}\b/g
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g

/** A run is named after the calls that lead to it. */
function name({ runId, path = [] }: AgentEvent, names: Map<string, string>): void {
  if (names.has(runId)) return
  const made = ['run', ...path.map(({ callId }) => callId)].join(' in ')
  const others = [...names.values()].filter((name) => name.startsWith(made)).length
  names.set(runId, others === 0 ? made : `${made} again ${others}`)
}

function tracedLife({ events, times, result, error }: Life): TracedLife {
  const timed = events.map((event, index): Timed<TracedEvent> => [times[index] ?? 0, withoutResult(event)])
  if (!result) return { events: timed, end: { error } }
  const { checkpoint, ...end } = result
  return { events: timed, end, ...(checkpoint && { checkpoint: comparable(checkpoint) }) }
}

function withoutResult(event: AgentEvent): TracedEvent {
  if (event.type !== 'run-end') return event
  const { result: _, ...rest } = event
  return rest
}

/** A checkpoint without its revision, what follows from the rest, and ids of spans. Its calls are in the order of their keys. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return byKey(value.map(comparable))
  if (typeof value !== 'object' || value === null) return value
  const isCheckpoint = 'checksum' in value
  const kept = Object.entries(value).filter(([name]) => !(isCheckpoint && ASIDE.has(name)))
  return Object.fromEntries(
    kept.map(([name, member]) => [name, comparable(member)] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

const ASIDE: ReadonlySet<string> = new Set(['revision', 'checksum', 'trace'])

function byKey(list: readonly unknown[]): readonly unknown[] {
  const keyed = list.filter((item): item is { readonly key: string } => typeof Object(item).key === 'string')
  return keyed.length < list.length ? list : keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1))
}

/** For JSON: an error has its name, its text and its data. */
function withErrors(this: unknown, name: string, value: unknown): unknown {
  const given: unknown = Object(this)[name]
  if (!(given instanceof Error)) return value
  const { cause, name: kind, message } = given
  return { ...Object.fromEntries(Object.entries(given)), name: kind, message, ...(cause !== undefined && { cause }) }
}
