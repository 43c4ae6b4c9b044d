import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized } from '@meanwhile/tests/size'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { timedLog } from '../../test/timed-log.ts'
import {
  type AgentOptions,
  type AgentRun,
  agentTool,
  type CheckpointStore,
  createAgent,
  type Middleware,
  memoryStore,
  runTool,
  type Tool,
  tool,
} from '../index.ts'

// Executions that wait only for a slot of a tool form one line, whatever run they belong to.

unhandledRejections()

const { log, note, restart } = timedLog()

/** A tool with one execution at a time, which stops at once when it is aborted. */
function limited(more: Omit<Partial<Tool>, 'needs'> = {}): Tool {
  return tool({
    name: 'work',
    description: 'Works.',
    input: z.object({ id: z.string(), ms: z.number() }),
    effect: 'external',
    concurrency: 1,
    execute: ({ id, ms }, { signal }) =>
      new Promise<string>((resolve, reject) => {
        note(`${id} begins`)
        const timer = setTimeout(() => resolve(id), ms)
        const stop = () => {
          clearTimeout(timer)
          reject(signal.reason as Error)
        }
        signal.addEventListener('abort', stop, { once: true })
      }),
    ...more,
  }) as Tool
}

const task = (id: string, ms = 10) => call('work', { id, ms }, { id })

const agentOf = (work: Tool, ids: readonly string[], more: Partial<AgentOptions> = {}) =>
  createAgent({
    model: scriptedModel([respond(...ids.map((id) => task(id))), respond(say('Done'))]),
    tools: [work],
    ...more,
  })

test('calls of runs, of their agents and of other calls, and executions without a run form one line of their tool (MA8, I7)', async () => {
  const work = limited()
  const inner = agentTool(agentOf(work, ['of an agent']), { name: 'inner', description: 'i' }) as Tool
  const calling: Tool = tool({
    name: 'calling',
    description: 'c',
    input: z.object({}),
    execute: (_, { run }) =>
      run?.callTool({ type: 'tool-call', id: 'of a call', name: 'work', input: { id: 'of a call', ms: 10 } }),
  })
  const outer = createAgent({
    model: scriptedModel([respond(call('inner', { request: 'Go' }), wait(2), call('calling')), respond(say('Done'))]),
    tools: [inner, calling, work],
    middleware: [early],
  })
  const blocker = runTool(work, { id: 'alone', ms: 20 })
  await vi.advanceTimersByTimeAsync(1)
  const first = agentOf(work, ['of a run', 'of that run, too']).run('Go')
  await vi.advanceTimersByTimeAsync(1)
  const second = outer.run('Go')
  await vi.advanceTimersByTimeAsync(5)
  const last = runTool(work, { id: 'last', ms: 10 })
  await vi.runAllTimersAsync()
  await Promise.all([blocker, first, second, last])
  expect(log).toEqual([
    '0 alone begins',
    '20 of a run begins',
    '30 of that run, too begins',
    '40 of an agent begins',
    '50 of a call begins',
    '60 last begins',
  ])
})

/** Stops the call or its run. */
const stops: Readonly<Record<string, (run: AgentRun, controller: AbortController) => unknown>> = {
  'is cancelled': (run) => run.cancelTool('next'),
  'has its run aborted': (_, controller) => controller.abort(),
  'has its run cancelled': (run) => run.cancel(),
}

/** The promise turns between two of these. */
const BETWEEN = sized({ small: 3, middle: 2, whole: 1 })

/** The number of turns after the slot comes free. */
const TURNS = Array.from({ length: Math.ceil(25 / BETWEEN) }, (_, n) => n * BETWEEN)

/** What begins when a call whose turn has come is stopped this many turns later, while another one waits for the same tool. */
async function stoppedAfter(
  turns: number,
  stop: (run: AgentRun) => unknown,
  options: Partial<AgentOptions>,
  signal?: AbortSignal,
) {
  restart()
  const work = limited()
  const stopLater = async () => {
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    stop(next)
  }
  // After the tool has returned: its slot is free by now.
  const stopping: Middleware = {
    name: 'stopping',
    async *wrapToolCall(one, inner) {
      const result = yield* inner(one)
      void stopLater()
      return result
    },
  }
  const first = agentOf(work, ['first'], { middleware: [stopping] }).run('Go')
  await vi.advanceTimersByTimeAsync(1)
  const next = agentOf(work, ['next'], options).stream('Go', signal && { signal })
  await vi.advanceTimersByTimeAsync(1)
  const last = runTool(work, { id: 'last', ms: 10 })
  await vi.runAllTimersAsync()
  await Promise.all([first, last, next.result.catch(() => undefined)])
  expect(vi.getTimerCount()).toBe(0)
  return [...log]
}

test.each(Object.keys(stops).flatMap((how) => [true, false].map((isStored) => ({ how, isStored }))))(
  'a slot goes at once to the next one after a call that $how in whatever turn after the slot came free, stored before it begins: $isStored (MA8, K1, I4)',
  async ({ how, isStored }) => {
    const begun = new Set<boolean>()
    for (const turns of TURNS) {
      const controller = new AbortController()
      const options = { grace: 0, ...(isStored && { checkpoints: memoryStore() }) }
      const did = await stoppedAfter(turns, (run) => stops[how]?.(run, controller), options, controller.signal)
      expect(did.filter((line) => !line.includes('next'))).toEqual(['0 first begins', '10 last begins'])
      begun.add(did.includes('10 next begins'))
    }
    // Some of the turns are too early to begin.
    if (isStored) expect([...begun]).toEqual([false, true])
  },
)

test('in a pause a slot goes at once to the next one after a call that has not begun, in whatever turn (MA8, K5)', async () => {
  for (const turns of TURNS) {
    const did = await stoppedAfter(turns, (run) => run.cancel({ at: 'after-model' }), { checkpoints: memoryStore() })
    const whole = ['0 first begins', '10 next begins', '20 last begins']
    expect(did).toEqual(did.length < 3 ? ['0 first begins', '10 last begins'] : whole)
  }
})

test.each(['is cancelled', 'has its run aborted', 'has its run cancelled'])(
  'a call that %s while its begin is being saved returns its slot at once (MA8, MA4)',
  async (how) => {
    const work = limited()
    const inner = memoryStore()
    const slow: CheckpointStore = { ...inner, save: (...saved) => sleep(50).then(() => inner.save(...saved)) }
    const controller = new AbortController()
    const first = agentOf(work, ['next'], { checkpoints: slow }).stream('Go', { signal: controller.signal })
    await vi.advanceTimersByTimeAsync(10)
    const last = runTool(work, { id: 'last', ms: 10 })
    await vi.advanceTimersByTimeAsync(10)
    stops[how]?.(first, controller)
    await vi.runAllTimersAsync()
    await Promise.all([last, first.result.catch(() => undefined)])
    expect(log).toEqual(['20 last begins'])
  },
)

test('with whenFull fail an inner call of an early call waits, and fails as busy when its maker is committed (MA8, O6)', async () => {
  const work = limited({ effect: 'read', concurrency: { limit: 1, whenFull: 'fail' } })
  const calling: Tool = tool({
    name: 'calling',
    description: 'c',
    input: z.object({}),
    effect: 'read',
    async execute(_, { run }) {
      const made = await run?.callTool({ type: 'tool-call', id: 'inner', name: 'work', input: { id: 'inner', ms: 10 } })
      note(`inner ${made?.isError ? 'is refused' : 'is done'}`)
    },
  })
  const model = scriptedModel([respond(call('calling'), wait(50)), respond(say('Done'))])
  const blocker = runTool(work, { id: 'blocker', ms: 100 })
  const reading = collect(createAgent({ model, tools: [calling, work], middleware: [early] }).stream('Go'))
  await vi.runAllTimersAsync()
  await Promise.all([reading, blocker])
  expect(log).toEqual(['0 blocker begins', '50 inner is refused'])
})
