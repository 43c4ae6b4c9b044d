import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { after, Host, told } from '../../test/host.ts'
import { type HostCalls, nextStep } from './host-calls.ts'
import type { HostTool } from './host-tool.ts'
import { UnfinishedEarlyCallError } from './unfinished-early-call-error.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const delay = fc.constantFrom(0, 5, 40)

/** A seat that a model reserves, how the tool does that, and what the host makes of the call. */
const seat = fc.record({
  ms: delay,
  undoMs: delay,
  ignoresAborts: fc.boolean(),
  leavesOnAbort: fc.boolean(),
  declines: fc.constantFrom(undefined, undefined, 'at once', 'in the end'),
  hosts: fc.constantFrom('same', 'same', 'changed', 'unused'),
  /** How long after the end of the response the host makes the call. */
  asks: fc.constantFrom(0, 0, 20, 120),
  pause: delay,
})

type Seat = typeof seat extends fc.Arbitrary<infer Value> ? Value : never

/** A response is requested again if it fails, and also if the host drops it. */
const step = fc.record({
  seats: fc.array(seat, { minLength: 1, maxLength: 3 }),
  before: fc.array(fc.constantFrom('failed', 'dropped', 'unreadable'), { maxLength: 2 }),
})

const script = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  hold: fc.constantFrom(30, 100, undefined),
})

class Seats {
  readonly reserved = new Set<number>()
  readonly expected = new Set<number>()
  /** Those with an early run that has not ended, or not been undone. */
  readonly early = new Set<number>()
  /** Those whose own run began meanwhile. */
  readonly overlaps: number[] = []
  begun = 0
  readonly host: Host

  constructor(hold: number | undefined) {
    this.host = new Host({ ...(hold !== undefined && { hold }) })
  }

  tool(n: number, { ms, undoMs, ignoresAborts, leavesOnAbort, declines }: Seat): HostTool {
    return {
      name: `reserve${n}`,
      early: {
        effect: 'reversible',
        reads: () => [],
        writes: () => [`${n}`],
        ...(leavesOnAbort && { leavesOnAbort }),
        compensate: async () => {
          await after0(undoMs)
          this.reserved.delete(n)
          this.early.delete(n)
        },
        start: async (_, { signal, decline }) => {
          this.begun++
          this.early.add(n)
          if (declines === 'at once') decline('the state')
          await after0(ms)
          if (declines === 'in the end') decline('the state')
          if (signal.aborted && !ignoresAborts) {
            this.early.delete(n)
            throw signal.reason
          }
          this.reserved.add(n)
          return n
        },
      },
    }
  }

  /** The host executes a call as an adapter does. */
  async asked(calls: HostCalls | undefined, id: string, n: number, { hosts, ms, asks }: Seat): Promise<void> {
    await after0(asks)
    const given = hosts === 'changed' ? n + 100 : n
    const call = [id, `reserve${n}`, { n: given }] as const
    const taken = calls?.take(...call)
    if (taken && taken.result instanceof Promise) {
      await Promise.race([taken.result, taken.declined]).catch(() => undefined)
      if (!taken.isDeclined) {
        this.early.delete(n)
        this.expected.add(given)
        return
      }
    }
    try {
      await calls?.cleared(...call)?.done
    } catch (error) {
      if (error instanceof UnfinishedEarlyCallError) return
      throw error
    }
    if (this.early.has(n)) this.overlaps.push(n)
    await after0(ms)
    this.reserved.add(given)
    this.expected.add(given)
  }
}

const after0 = (ms: number) => (ms > 0 ? new Promise<void>((resolve) => setTimeout(resolve, ms)) : Promise.resolve())

test('an early run and the host’s run of a call never overlap, and no undo takes back what an accepted call did (W46)', async () => {
  let begun = 0
  await fc.assert(
    fc.asyncProperty(script, async ({ steps, hold }) => {
      vi.clearAllTimers()
      const seats = new Seats(hold)
      for (const [place, { seats: wanted, before }] of steps.entries()) {
        const tools = wanted.map((one, at) => seats.tool(place * 10 + at, one))
        let calls: HostCalls | undefined
        for (const [attempt, ends] of [...before, 'accepted'].entries()) {
          if (!calls?.again()) calls = nextStep(seats.host.loop, seats.host.run, { tools })
          for (const [at, { pause }] of wanted.entries()) {
            const n = place * 10 + at
            calls?.seal(told(calls, `${attempt} ${n}`, `reserve${n}`, { n }))
            await after(pause)
          }
          if (ends === 'failed') calls?.failed()
          else if (ends === 'unreadable') calls?.unreadable(new Error('what?'))
          else calls?.stood()
          if (ends !== 'accepted') continue
          const last = calls
          const asked = wanted.map((one, at) => {
            const n = place * 10 + at
            return one.hosts === 'unused' ? undefined : seats.asked(last, `${attempt} ${n}`, n, one)
          })
          await Promise.all([...asked, after(1_000)])
          void calls?.release()
        }
      }
      await after(1_000)
      expect(seats.overlaps).toEqual([])
      expect(seats.reserved).toEqual(seats.expected)
      expect(seats.host.run.leaving.size).toBe(0)
      expect(vi.getTimerCount()).toBe(0)
      begun += seats.begun
    }),
    propertyRuns({ small: 35, middle: 50, whole: 100_000 }),
  )
  expect(begun).toBeGreaterThan(100)
})
