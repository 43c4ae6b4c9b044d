/** The events of a run that eager tools must not change. */

import type { AgentEvent } from '@meanwhile/core'

export interface Accounts {
  /** Of each call, by the id it ends with: what was told of it, in order. */
  readonly calls: Readonly<Record<string, readonly string[]>>
  /** Everything else, in order. */
  readonly others: readonly string[]
  /** The calls that were let go of, as they were started. */
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
  /** Of an agent that the call runs. */
  within: AgentEvent[]
  open: boolean
}

/** Warnings of single calls, which come when they are committed: the result tells of them. */
const LATE: ReadonlySet<string> = new Set(['compensation-failed', 'effect-failed'])

/** Throws if the events of a provisional call are in the wrong order. */
export function accounts(events: readonly AgentEvent[]): Accounts {
  const stories: Story[] = []
  const others: string[] = []
  const discarded: Discarded[] = []
  /** By the ids under which they were started: what they call goes by these. */
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
      // Only an early call tells of it.
      if (!latest(event.callId)?.open) throw new Error(`${event.callId} has settled early, but is not open`)
    } else if (event.type === 'message' && event.message.role === 'tool') {
      // Part of what is told of its call: how far it came before something ended the run is a matter of time.
      latest(event.message.callId)?.events.push(event)
    } else if ('callId' in event && event.callId !== undefined) {
      const story = latest(event.callId)
      if (event.type === 'tool-end' && story?.open) throw new Error(`${event.callId} ends before it is committed`)
      const provisional = 'provisional' in event && event.provisional === true
      if (story && event.type !== 'tool-end' && story.open !== provisional) {
        throw new Error(`${event.callId} is ${story.open ? '' : 'not '}open, but ${event.type} says otherwise`)
      }
      // A call that was not run has its end alone.
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
        [...events.map((event) => canonical(plain(event, id))), ...(within.length > 0 ? [toldWithin(within)] : [])],
      ]),
    ),
    others,
    discarded,
  }
}

/** The events of an agent in a call. */
function toldWithin(events: readonly AgentEvent[]): string {
  const { calls, others } = accounts(events)
  return canonical({ calls, others })
}

/** Without the run's id, times and marks; under the id its call ends with. */
function plain(event: AgentEvent, callId?: string): object {
  const { runId: _, ...rest } = event
  if (event.type === 'run-end') {
    const warnings = sorted(event.result.warnings.filter(({ source }) => source !== 'eager-tools'))
    return { ...rest, result: { ...event.result, warnings, abandoned: undefined, savings: undefined } }
  }
  if (callId === undefined) return rest
  const call = event.type === 'tool-start' ? { call: { ...event.call, id: callId } } : {}
  const message = event.type === 'tool-end' || event.type === 'message' ? { message: { ...event.message, callId } } : {}
  return { ...rest, ...call, ...message, callId, timestamp: undefined, provisional: undefined }
}

/** In no order of time. */
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
