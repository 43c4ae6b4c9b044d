/** Groups the events of a run so that runs with and without eager tools can be compared. */

import type { AgentEvent } from '@meanwhile/core'

export interface Accounts {
  /** For each call, by the id it ends with: its events in order. */
  readonly calls: Readonly<Record<string, readonly string[]>>
  /** All other events, in order. */
  readonly others: readonly string[]
  /** The discarded calls, as they were started. */
  readonly discarded: readonly Discarded[]
}

interface Discarded {
  readonly step: number | undefined
  readonly name: string
  readonly input: unknown
  readonly cause: string
}

interface Story {
  id: string
  events: AgentEvent[]
  /** The events of an agent that runs inside the call. */
  within: AgentEvent[]
  open: boolean
}

/** Warnings about single calls, which come when the calls are committed; the result contains them. */
const LATE: ReadonlySet<string> = new Set(['compensation-failed', 'effect-failed'])

/** Throws if the events of a provisional call are in the wrong order. */
export function accounts(events: readonly AgentEvent[]): Accounts {
  const stories: Story[] = []
  const others: string[] = []
  const discarded: Discarded[] = []
  /** By the ids with which the calls started; calls inside them use these ids. */
  const ids = new Map<string, string>()
  const latest = (id: string) => stories.findLast((story) => story.id === id)

  for (const event of events) {
    const { path: [caller, ...path] = [] } = event
    if (caller) {
      const story = latest(caller.callId)
      if (!story) throw new Error(`${caller.callId} runs an agent, but has not started`)
      story.within.push({ ...event, path: path.length > 0 ? path : undefined } as AgentEvent)
    } else if (event.type === 'tool-committed') {
      const story = latest(event.startedAs ?? event.callId)
      if (!story?.open) throw new Error(`${event.callId} is committed, but not open`)
      story.open = false
      story.id = event.callId
      if (event.startedAs !== undefined) ids.set(event.startedAs, event.callId)
    } else if (event.type === 'tool-discarded') {
      const story = latest(event.callId)
      const [start] = story?.events ?? []
      if (!story?.open || start?.type !== 'tool-start') throw new Error(`${event.callId} is discarded, but not open`)
      discarded.push({ step: start.step, name: start.call.name, input: start.call.input, cause: event.cause })
      stories.splice(stories.indexOf(story), 1)
    } else if (event.type === 'tool-start') {
      stories.push({ id: event.callId, events: [event], within: [], open: event.provisional === true })
    } else if (event.type === 'tool-settled') {
      // Only early calls have this event.
      if (!latest(event.callId)?.open) throw new Error(`${event.callId} has settled early, but is not open`)
    } else if (event.type === 'message' && event.message.role === 'tool') {
      // Belongs to its call, because how far a call came before the run ended is a matter of timing.
      latest(event.message.callId)?.events.push(event)
    } else if ('callId' in event && event.callId !== undefined) {
      const story = latest(event.callId)
      if (event.type === 'tool-end' && story?.open) throw new Error(`${event.callId} ends before it is committed`)
      const provisional = 'provisional' in event && event.provisional === true
      if (story && event.type !== 'tool-end' && story.open !== provisional) {
        throw new Error(`${event.callId} is ${story.open ? '' : 'not '}open, but ${event.type} contradicts this`)
      }
      // A call that did not run has only its end.
      if (story) story.events.push(event)
      else stories.push({ id: event.callId, events: [event], within: [], open: false })
    } else if (event.type !== 'warning' || (event.source !== 'eager-tools' && !LATE.has(event.code))) {
      others.push(canonical(plain(event)))
    }
  }
  const open = stories.find((story) => story.open)
  if (open) throw new Error(`${open.id} is neither committed nor discarded`)
  for (const story of stories) {
    const [maker = '', inner] = story.id.split('/')
    if (inner !== undefined) story.id = `${ids.get(maker) ?? maker}/${inner}`
  }
  return {
    calls: Object.fromEntries(
      stories.map(({ id, events, within }) => [
        id,
        [
          ...events.map((event) => canonical(plain(event, id, ids))),
          ...(within.length > 0 ? [toldWithin(within)] : []),
        ],
      ]),
    ),
    others,
    discarded,
  }
}

/** The events of an agent inside a call. */
function toldWithin(events: readonly AgentEvent[]): string {
  const { calls, others } = accounts(events)
  return canonical({ calls, others })
}

/** Without run id, times and marks, and with the id that the call ends with. */
function plain(event: AgentEvent, callId?: string, ids: ReadonlyMap<string, string> = new Map()): object {
  const { runId: _, ...rest } = event
  if (event.type === 'run-end') {
    const warnings = sorted(event.result.warnings.filter(({ source }) => source !== 'eager-tools'))
    return { ...rest, result: { ...event.result, warnings, abandoned: undefined, savings: undefined } }
  }
  if (callId === undefined) return rest
  const call = event.type === 'tool-start' ? { call: { ...event.call, id: callId } } : {}
  const made = 'makers' in event && event.makers ? { makers: event.makers.map((id) => ids.get(id) ?? id) } : {}
  const message = event.type === 'tool-end' || event.type === 'message' ? { message: { ...event.message, callId } } : {}
  return { ...rest, ...call, ...made, ...message, callId, timestamp: undefined, provisional: undefined }
}

/** Sorted, because their order is a matter of timing. */
export function sorted(values: readonly unknown[]): string[] {
  return values.map(canonical).sort()
}

/** JSON with sorted keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    const sorted: Record<string, unknown> = {}
    for (const key of Object.keys(member).sort()) sorted[key] = (member as Record<string, unknown>)[key]
    return sorted
  })
}
