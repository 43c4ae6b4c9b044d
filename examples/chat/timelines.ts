/** A middleware that notes when the model writes and when the tools run, for the line and the picture under each answer. */

import { type AgentEvent, type Awaitable, type Middleware, map, messageOf, type Run } from '@meanwhile/core'
import { trace } from '@opentelemetry/api'
import { type Times, totals } from './times.ts'

/** Keeps times, as JSON, by the id of the turn, which is the id of its runs. */
export interface TimesStore {
  read(turn: string): Awaitable<string | undefined>
  save(turn: string, times: string): Awaitable<void>
}

/** If the store fails, that is only a warning: the answer has no picture. `isEarly`: whether the tools of the run may start early. */
export function timelines(store: TimesStore, isEarly: (run: Run) => boolean): Middleware {
  return {
    name: 'timelines',
    async *wrapAgent(setup, next, run) {
      const kept = await unlessItFails(async () => JSON.parse((await store.read(run.id)) ?? 'null'))
      const times = begun(isEarly(run), kept ?? undefined)
      const readers = new Set(setup.tools.filter(({ effect }) => effect === 'read').map(({ name }) => name))
      const save = () => unlessItFails(() => store.save(run.id, JSON.stringify(times)))
      void save()
      try {
        return yield* map(next(setup), (event) => {
          if (!event.path && note(times, event, run, readers)) void save()
          return event
        })
      } finally {
        end(times, run.signal.aborted ? 'cut' : 'ended', now() - times.began)
        // Whoever sees that the turn has ended finds all its times.
        await save()
      }
    },
  }
}

async function unlessItFails<Result>(work: () => Awaitable<Result>): Promise<Result | undefined> {
  try {
    return await work()
  } catch (error) {
    process.emitWarning(`The times of an answer are not kept: ${messageOf(error)}`)
    return undefined
  }
}

type Draft<Of> = { -readonly [Key in keyof Of]: Of[Key] extends readonly (infer Item)[] ? Draft<Item>[] : Of[Key] }

/** `kept`: of a turn that continues, after an answer or in another process. It goes on where its times end. */
function begun(early: boolean, kept?: Draft<Times>): Draft<Times> {
  const at = kept ? totals(kept).total : 0
  const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {}
  const run = traceId && { run: `${traceId}-${spanId}` }
  const began = now() - at
  const times: Draft<Times> = { steps: [], breaks: [], ...kept, ...run, early, began, state: 'open' }
  if (kept) {
    times.breaks.push({ at, why: kept.state === 'ended' ? 'you' : 'restart' })
    end(times, 'open', at)
  }
  return times
}

/** Nothing runs any more. */
function end(times: Draft<Times>, state: Times['state'], at: number): void {
  times.state = state
  for (const step of times.steps) {
    if (step.end === undefined) Object.assign(step, { end: at, isFailed: true })
    for (const call of step.calls) if (call.start !== undefined) call.end ??= at
  }
}

/** Returns whether the event has changed the times: most events of a stream do not. */
function note({ began, steps }: Draft<Times>, event: AgentEvent, run: Run, readers: ReadonlySet<string>): boolean {
  const at = now() - began
  if (event.type === 'attempt-start') return steps.push({ at, calls: [] }) > 0
  const step = steps.at(-1)
  if (!step) return false
  if (step.first === undefined && /-delta$|^tool-input-start$/.test(event.type)) step.first = at
  else if (event.type === 'message' && event.message.role === 'assistant') step.end ??= at
  // Equal calls of the next attempt join those of this one.
  else if (event.type === 'attempt-failed') Object.assign(step, { end: at, isFailed: true, calls: [] })
  else if (event.type === 'tool-input-closed' || event.type === 'tool-call') {
    const { id, name: tool } = event.call
    if (step.calls.some((call) => call.id === id)) return false
    // A call that does more than read holds back the calls after it.
    const isReady = [...step.calls, { tool }].every((call) => readers.has(call.tool))
    step.calls.push({ id, tool, ...(isReady && { ready: at }) })
  } else if ('callId' in event && event.callId !== undefined && event.type !== 'tool-progress') {
    const call = steps.flatMap(({ calls }) => calls).findLast(({ id }) => id === event.callId)
    const { startedAt, endedAt } = run.toolStatus(event.callId) ?? {}
    // A call that was denied has not run.
    if (!call || startedAt === undefined) return false
    Object.assign(call, { start: Math.round(startedAt) - began, end: endedAt && Math.round(endedAt) - began })
    if ((event.type === 'tool-settled' || event.type === 'tool-end') && event.message.isError) call.isFailed = true
  } else return false
  return true
}

/** On the clock of `toolStatus`. */
const now = () => Math.round(performance.timeOrigin + performance.now())
