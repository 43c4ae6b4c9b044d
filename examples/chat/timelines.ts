/** A middleware that notes when the model writes and when the tools run, for the line and the picture under each answer. */

import { type Awaitable, type Middleware, map, type Run, RunStop, runLocal, type ToolCall } from '@meanwhile/core'
import { trace } from '@opentelemetry/api'
import { type CallTimes, type StepTimes, type Times, totals } from './times.ts'

/** Keeps times by the id of the turn, which is the id of its runs. */
export interface TimesStore {
  read(turns: readonly string[]): Awaitable<ReadonlyMap<string, Times>>
  save(turn: string, times: Times): void
}

export async function shownTimes(store: TimesStore, turns: readonly string[]): Promise<Record<string, Times>> {
  const found = [...(await store.read(turns))]
  const now = ({ state, began }: Times) => (state === 'open' ? { now: Date.now() - began } : {})
  return Object.fromEntries(found.map(([turn, times]) => [turn, { ...times, ...now(times) }]))
}

/** It must be the innermost middleware. `isEarly`: whether the tools of the run may start early. */
export function timelines(store: TimesStore, isEarly: (run: Run) => boolean): Middleware {
  const recordOf = runLocal(() => new TurnRecord(store))
  return {
    name: 'timelines',
    ignoresInput: true,
    async *wrapAgent(setup, next, run) {
      const record = recordOf(run)
      record.open(run.id, isEarly(run), (await store.read([run.id])).get(run.id))
      try {
        return yield* next(setup)
      } finally {
        record.close(run.signal.aborted ? 'cut' : 'ended')
      }
    },
    async *wrapModel(request, next, run) {
      const record = recordOf(run)
      const step = record.step()
      const readers = new Set(run.setup.tools.filter(({ effect }) => effect === 'read').map(({ name }) => name))
      try {
        return yield* map(next(request), (event) => {
          if (step.first === undefined && /-delta$|^tool-input-start$/.test(event.type)) record.note(step, 'first')
          if (event.type === 'tool-input-closed' || event.type === 'tool-call') {
            const call = record.call(event.call)
            // A call that does more than read holds back the calls after it.
            const isHeldBack = step.calls.some((one) => one !== call && one.ready === undefined)
            if (call.ready === undefined && readers.has(call.tool) && !isHeldBack) record.note(call, 'ready')
          }
          return event
        })
      } catch (error) {
        step.isFailed = true
        throw error
      } finally {
        record.note(step, 'end')
      }
    },
    async *wrapToolCall(call, next, run) {
      const record = recordOf(run)
      const entry = record.call(call)
      record.note(entry, 'start')
      try {
        const message = yield* next(call)
        if (message.isError) entry.isFailed = true
        return message
      } catch (error) {
        // A call that asks has not run.
        if (error instanceof RunStop) delete entry.start
        else entry.isFailed = true
        throw error
      } finally {
        if (entry.start !== undefined) record.note(entry, 'end')
      }
    },
  }
}

type Draft<Of> = { -readonly [Key in keyof Of]: Of[Key] extends readonly (infer Item)[] ? Draft<Item>[] : Of[Key] }

/** The times of one turn, saved with each change. */
class TurnRecord {
  readonly #store: TimesStore
  #turn = ''
  #times: Draft<Times> = { early: true, began: 0, state: 'open', steps: [], breaks: [] }

  constructor(store: TimesStore) {
    this.#store = store
  }

  /** `kept`: of a turn that continues, after an answer or in another process. It goes on where its times end. */
  open(turn: string, early: boolean, kept?: Times): void {
    const at = kept ? totals(kept).total : 0
    const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {}
    this.#turn = turn
    Object.assign(this.#times, structuredClone(kept), { early, began: Date.now() - at, state: 'open' })
    if (traceId) this.#times.run = `${traceId}-${spanId}`
    if (kept) this.#times.breaks.push({ at, why: kept.state === 'ended' ? 'you' : 'restart' })
    for (const step of this.#times.steps) if (step.end === undefined) Object.assign(step, { end: at, isFailed: true })
    this.#save()
  }

  close(state: 'cut' | 'ended'): void {
    this.#times.state = state
    this.#save()
  }

  step(): Draft<StepTimes> {
    const step: Draft<StepTimes> = { at: this.#now, calls: [] }
    this.#times.steps.push(step)
    this.#save()
    return step
  }

  call({ id, name }: ToolCall): Draft<CallTimes> {
    const { steps } = this.#times
    const known = steps.flatMap(({ calls, isFailed }) => (isFailed ? [] : calls)).find((call) => call.id === id)
    const call: Draft<CallTimes> = known ?? { id, tool: name }
    if (!known) steps.at(-1)?.calls.push(call)
    return call
  }

  note<Name extends string>(of: { [Key in Name]?: number }, name: Name): void {
    of[name] = this.#now
    this.#save()
  }

  get #now(): number {
    return Date.now() - this.#times.began
  }

  #save(): void {
    this.#store.save(this.#turn, this.#times)
  }
}
