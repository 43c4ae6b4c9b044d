import { collect } from '@meanwhile/assemble/testing'
import { AgentError, createAgent, type Middleware, type Tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { toolOutline } from '../test/outline.ts'
import { retrying } from '../test/retrying.ts'
import { type Moment, tellingModel } from '../test/telling-model.ts'
import { after } from '../test/workshop.ts'
import { type EagerToolsOptions, eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const input = z.object({ on: z.string(), ms: z.number().optional() })
type Input = z.infer<typeof input>
const on = ({ on }: Input) => [on]

/**
 * `look`, `put` and `send` use a key, `glance` and `shout` use none, and some are irregular. They record what they do
 * and when.
 */
function workshop() {
  const begin = performance.now()
  const log: string[] = []
  const make = (name: string, more: Partial<Tool<Input, unknown>>) => {
    const made: Tool<Input, unknown> = {
      name,
      description: name,
      input,
      async execute({ on, ms = 10 }, { signal }) {
        log.push(`${Math.round(performance.now() - begin)} ${name} ${on}`)
        await after(ms, signal)
        return `${name} ${on}`
      },
      ...more,
    }
    return made as Tool
  }
  const tools = [
    make('look', { effect: 'read', reads: on }),
    make('put', { effect: 'idempotent', writes: on }),
    make('send', { writes: on }),
    make('glance', { effect: 'read' }),
    make('shout', {}),
    make('odd', {
      effect: 'read',
      reads() {
        throw new Error('no idea')
      },
    }),
    make('deaf', {
      effect: 'read',
      reads: on,
      async execute({ on, ms = 10 }) {
        log.push(`${Math.round(performance.now() - begin)} deaf ${on}`)
        await after(ms)
      },
    }),
    make('fatal', {
      effect: 'read',
      execute() {
        throw new AgentError('that was it')
      },
    }),
  ]
  return { log, tools }
}

interface Said {
  readonly tool: string
  readonly on: string
  readonly ms?: number
  /** When its arguments close, from the beginning of its response; the next call comes 10 ms later. */
  readonly at?: number
  /** Sealed with the response. */
  readonly late?: boolean
  readonly seal?: string
}

const say = (tool: string, on: string, more: Partial<Said> = {}): Said => ({ tool, on, ...more })

/** One response: its calls, and how and when it ends. */
function response(calls: readonly Said[], end: 'tool-calls' | 'cut' = 'tool-calls', endAt = 100): Moment[] {
  const moments = calls.flatMap(({ tool, on, ms, at, late, seal }, n): Moment[] => {
    const time = at ?? n * 10
    const delta = JSON.stringify({ on, ...(ms !== undefined && { ms }) })
    const closed: Moment = [time, (to) => to.call(n, { id: `${tool}-${n}`, name: tool, delta })]
    return late ? [closed] : [closed, [time, (to) => to.seal(n, seal)]]
  })
  return end === 'cut' ? [...moments, [endAt, () => undefined]] : [...moments, [endAt, (to) => to.finish(end)]]
}

const done: Moment[] = [
  [0, (to) => to.text('Done.')],
  [0, (to) => to.finish('stop')],
]

interface Options extends EagerToolsOptions {
  readonly toolConcurrency?: number
  readonly middleware?: readonly Middleware[]
  readonly eager?: boolean
}

async function ran(responses: readonly Moment[][], options: Options = {}) {
  const { toolConcurrency = Number.POSITIVE_INFINITY, middleware = [], eager = true, ...rest } = options
  const { log, tools } = workshop()
  const agent = createAgent({
    model: tellingModel([...responses, done]),
    tools,
    toolConcurrency,
    middleware: [retrying({ repeats: responses.length }), ...(eager ? [eagerTools(rest)] : []), ...middleware],
  })
  const { events, result, error } = await played(collect(agent.stream('Go')))
  return { log, events, result, error }
}

test('a call that declares its keys is not a barrier; only calls with a common key wait for it (H14)', async () => {
  const calls = [say('send', 'a'), say('look', 'a'), say('look', 'b'), say('put', 'b'), say('glance', 'c')]
  const { log } = await ran([response(calls)])
  expect(log).toEqual(['20 look b', '30 put b', '40 glance c', '100 send a', '110 look a'])
})

test('a call that conflicts with a running early call starts early after it (H14)', async () => {
  const calls = [say('put', 'a', { ms: 50 }), say('look', 'a'), say('put', 'a'), say('look', 'b')]
  const { log } = await ran([response(calls)])
  expect(log).toEqual(['0 put a', '30 look b', '50 look a', '60 put a'])
})

test('a call that is not a read and declares no key is a barrier to calls that do (H14)', async () => {
  const { log } = await ran([response([say('shout', 'a'), say('look', 'a'), say('glance', 'b')])])
  expect(log).toEqual(['100 shout a', '100 look a', '100 glance b'])
})

test('until an earlier call is sealed it may use any key: a read may wait for it, reads do not wait for reads (H14, G6)', async () => {
  const { log } = await ran([
    response([
      say('look', 'a', { late: true }),
      say('look', 'b', { late: true }),
      say('put', 'c', { late: true }),
      say('look', 'd', { late: true }),
      say('glance', 'e', { late: true }),
    ]),
  ])
  expect(log).toEqual(['0 look a', '10 look b', '40 glance e', '100 put c', '100 look d'])
})

test('until a read is sealed it may use any key: a sealed write waits for that, and then starts early (H14, G6)', async () => {
  const moments: Moment[] = [
    ...response([say('look', 'a', { at: 0, late: true }), say('put', 'b', { at: 10 })], 'cut', 50),
    [60, (to) => to.seal(0)],
    [100, (to) => to.finish('tool-calls')],
  ]
  const { log } = await ran([moments])
  expect(log).toEqual(['0 look a', '60 put b'])
})

test('a read of the new key does not overtake a write that changes its key (H14, H8)', async () => {
  const calls = [say('put', 'a', { at: 0, late: true }), say('look', 'b', { at: 10 })]
  const moments: Moment[] = [
    ...response(calls, 'cut', 50),
    [60, (to) => to.seal(0, '{"on":"b"}')],
    [100, (to) => to.finish('tool-calls')],
  ]
  const { log } = await ran([moments])
  expect(log).toEqual(['60 put b', '70 look b'])
})

test('while an earlier write is still streaming, calls with keys wait for it (H14)', async () => {
  const { log } = await ran([
    [
      [0, (to) => to.call('slow', { id: 'p', name: 'put', delta: '{"on":' })],
      ...response([say('look', 'a'), say('look', 'b')], 'cut', 50),
      [60, (to) => to.call('slow', { delta: '"a"}' })],
      [60, (to) => to.seal('slow')],
      [100, (to) => to.finish('tool-calls')],
    ],
  ])
  expect(log).toEqual(['60 put a', '60 look b', '70 look a'])
})

test('with one slot a call that may not start early holds back later calls, whatever their keys (H12, A22)', async () => {
  const calls = [say('look', 'a'), say('send', 'a'), say('look', 'b')]
  const { log } = await ran([response(calls)], { toolConcurrency: 1 })
  expect(log).toEqual(['0 look a', '100 send a', '110 look b'])
})

test('a tool whose reads function throws is external without keys: not early, a barrier, with one warning (H4, H14)', async () => {
  for (const eager of [true, false]) {
    const { log, result } = await ran([response([say('odd', 'a'), say('look', 'a')])], { eager })
    expect(log).toEqual(['100 odd a', '100 look a'])
    expect(result?.warnings).toEqual([{ code: 'effect-failed', message: 'what odd does: no idea', source: 'core' }])
    expect(result?.text).toBe('Done.')
  }
})

test('a discarded call causes no warning (H4, H16)', async () => {
  const { log, result } = await ran([response([say('odd', 'a')], 'cut'), response([])], { policy: () => 'start' })
  expect(log).toEqual(['0 odd a'])
  expect(result?.warnings.filter(({ code }) => code === 'effect-failed')).toEqual([])
})

test('a call that a wrap changes to another key waits until its model call has succeeded, and is then ordered by that key (H14)', async () => {
  const turning: Middleware = {
    name: 'turning',
    wrapToolCall: (call, next) => next(call.name === 'look' ? { ...call, input: { on: 'a' } } : call),
  }
  const { log } = await ran([response([say('send', 'a'), say('look', 'b'), say('glance', 'c')])], {
    middleware: [turning],
    toolConcurrency: 2,
  })
  // It holds no slot while it waits.
  expect(log).toEqual(['20 glance c', '100 send a', '110 look a'])
})

test('a kept read is not joined after a write it has not seen: it is made once more after the write (H14, H22)', async () => {
  const first = response([say('look', 'a')], 'cut', 50)
  for (const [writer, at] of [
    ['put', '50'],
    ['send', '150'],
  ] as const) {
    const { log, events } = await ran([first, response([say(writer, 'a'), say('look', 'a')])])
    expect(log).toEqual(['0 look a', `${at} ${writer} a`, `${Number(at) + 10} look a`])
    expect(
      toolOutline(events).filter((line) => /look.*(committed|discarded)|(committed|discarded).*look/.test(line)),
    ).toEqual(['tool-discarded look-0 call_withdrawn', ...(writer === 'put' ? ['tool-committed look-1'] : [])])
  }
})

test('with one slot a kept read is not joined after any write (A22, H22)', async () => {
  const { log } = await ran(
    [response([say('glance', 'a')], 'cut', 50), response([say('shout', 'b'), say('glance', 'a')])],
    {
      toolConcurrency: 1,
    },
  )
  expect(log).toEqual(['0 glance a', '150 shout b', '160 glance a'])
})

test('a kept read is joined if no write has come before it (H22, H26)', async () => {
  for (const toolConcurrency of [1, Number.POSITIVE_INFINITY]) {
    const { log } = await ran(
      [response([say('look', 'a'), say('put', 'a')], 'cut', 50), response([say('look', 'a'), say('put', 'a')])],
      { toolConcurrency },
    )
    expect(log).toEqual(['0 look a', '10 put a'])
  }
  const other = await ran([
    response([say('send', 'b'), say('look', 'a')], 'cut', 50),
    response([say('send', 'b'), say('look', 'a')]),
  ])
  expect(other.log).toEqual(['10 look a', '150 send b'])
})

test('an effect is not made again, whatever now comes before it (H26, H22)', async () => {
  const { log } = await ran([
    response([say('put', 'a')], 'cut', 50),
    response([say('put', 'a', { ms: 20 }), say('put', 'a')]),
  ])
  expect(log).toEqual(['0 put a', '50 put a'])
})

test('a call that waits for its slot when its attempt fails starts only if it is joined (G11, H22, H13)', async () => {
  const first = response([say('look', 'a', { ms: 60 }), say('look', 'b')], 'cut', 50)
  const joined = await ran([first, response([say('look', 'b')])], { toolConcurrency: 1 })
  expect(joined.log).toEqual(['0 look a', '60 look b'])
  const left = await ran([first, response([say('look', 'c')])], { toolConcurrency: 1 })
  expect(left.log).toEqual(['0 look a', '60 look c'])
  expect(toolOutline(left.events).filter((line) => line.includes('discarded'))).toEqual([
    'tool-discarded look-0 call_withdrawn',
    'tool-discarded look-1 call_withdrawn',
  ])
})

test('a joined call that has not begun takes the place it has in the attempt that joins it (H14, H22)', async () => {
  const first = response([say('glance', 'x', { ms: 70 }), say('look', 'a')], 'cut', 50)
  const second = response([say('put', 'a', { ms: 30 }), say('look', 'a')])
  const { log } = await ran([first, second], { toolConcurrency: 1 })
  expect(log).toEqual(['0 glance x', '70 put a', '100 look a'])
})

test('a discarded read that is still running does not delay writes of its key (H13, H14)', async () => {
  const { log } = await ran([response([say('deaf', 'a', { ms: 500 })], 'cut', 50), response([say('send', 'a')])])
  expect(log).toEqual(['0 deaf a', '150 send a'])
})

test('if an early call ends the run, the calls are entered that would be entered with it without eager tools (H16, A12)', async () => {
  for (const [calls, toolConcurrency, entered] of [
    [[say('fatal', 'x'), say('send', 'a'), say('shout', 'b')], Number.POSITIVE_INFINITY, ['100 send a', '100 shout b']],
    [[say('fatal', 'x'), say('send', 'a'), say('shout', 'b')], 2, ['100 send a']],
    [[say('fatal', 'x'), say('send', 'a')], 1, []],
    [[say('send', 'a'), say('send', 'a'), say('fatal', 'x')], 3, ['100 send a']],
  ] as const) {
    const eager = await ran([response(calls)], { toolConcurrency, independent: ['send'] })
    const waiting = await ran([response(calls)], { toolConcurrency, eager: false })
    expect([eager.log, waiting.log]).toEqual([entered, entered])
    expect([eager.error, waiting.error]).toMatchObject([{ message: 'that was it' }, { message: 'that was it' }])
  }
})

test('a call that waits, without eager tools, for the key of a call that had ended early is not entered either (H16, H14)', async () => {
  const calls = [say('look', 'a'), say('fatal', 'x'), say('send', 'a'), say('send', 'b')]
  const eager = await ran([response(calls)])
  const waiting = await ran([response(calls)], { eager: false })
  expect(eager.log).toEqual(['0 look a', '100 send b'])
  expect(waiting.log).toEqual(['100 look a', '100 send b'])
})
