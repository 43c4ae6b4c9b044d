import {
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  tool,
  toolCallLimitMiddleware,
  toolEmulatorMiddleware,
} from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  answer,
  begin,
  breaks,
  human,
  looks,
  more,
  type Played,
  plainAndEager,
  played,
  Scripted,
  settled,
  shown,
  text,
  wait,
} from '../../test/langchain.ts'
import type { StepSavings } from '../savings.ts'
import { type EagerSettings, eager } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const a = '{"q":"a"}'
const schema = z.object({ q: z.string() })
const look = tool(({ q }) => `saw ${q}`, { name: 'look', description: 'looks', schema })
const send = tool(({ q }) => `sent ${q}`, { name: 'send', description: 'sends', schema })
const model = new Scripted([answer])

// With `exactOptionalPropertyTypes` their parameters are `never`.
const preventing: readonly (readonly [name: string, middleware: object])[] = [
  ['HumanInTheLoopMiddleware', humanInTheLoopMiddleware({ interruptOn: { send: true } } as never)],
  ['ToolCallLimitMiddleware', toolCallLimitMiddleware({ runLimit: 1 } as never)],
  ['ToolCallLimitMiddleware[send]', toolCallLimitMiddleware({ toolName: 'send', runLimit: 1 } as never)],
  ['ToolEmulatorMiddleware', toolEmulatorMiddleware({ tools: ['send'], model })],
]

const refused: readonly (readonly [option: string, effects: object, settings: unknown, message: string])[] = [
  ['effects.lok', { lok: 'read' }, {}, 'is not the name of a tool; did you mean look?'],
  ['effects.look', { look: 'write' }, {}, 'write is not an effect'],
  ['effects.look', { look: 'reversible' }, {}, 'has no compensate'],
  ['approval', { look: 'read' }, { approval: ['sned'] }, 'sned is not the name of a tool; the tools are: look, send'],
  ['independent', { look: 'read' }, { independent: 'send' }, ''],
  [
    'independent',
    { look: 'read' },
    { independent: ['sned'] },
    'sned is not the name of a tool; the tools are: look, send',
  ],
  ['schemas', { look: 'read' }, { schemas: { sned: 'fixed' } }, 'sned is not the name of a tool'],
  ['schemas.send', { look: 'read' }, { schemas: { send: 'free' } }, "must be 'fixed'"],
]

test.for(refused)('%s: an invalid setting is refused at once (R11, A2)', ([option, effects, settings, message]) => {
  expect(() => eager({ model, tools: [look, send] } as object, effects, settings as EagerSettings)).toThrow(
    expect.objectContaining({ name: 'ConfigError', option, message: expect.stringContaining(message) }),
  )
})

test('an agent in place of its options is refused, and so are tools that are not a list (R11, A2)', () => {
  const agent = createAgent({ model, tools: [look] })
  expect(() => eager(agent as object, { look: 'read' })).toThrow(
    expect.objectContaining({
      name: 'ConfigError',
      option: 'options',
      message: expect.stringContaining('pass its options: createAgent(eager('),
    }),
  )
  expect(() => eager({ model, tools: { look } }, { look: 'read' })).toThrow(
    expect.objectContaining({ name: 'ConfigError', option: 'tools' }),
  )
})

test('missing options are refused (R11, A2)', () => {
  expect(() => eager<object>(undefined as never, {})).toThrow(
    expect.objectContaining({ name: 'ConfigError', option: 'options' }),
  )
})

test('without a tool that may start early the options are returned unchanged (R1)', () => {
  const options = { model, tools: [look, send] }
  expect(eager(options, {})).toBe(options)
  expect(eager(options, { look: 'external' })).toBe(options)
  expect(eager(options, { look: 'read' }, { approval: ['look'] })).toBe(options)
})

test('an undeclared tool stays the same object, and no middleware is added (R1)', () => {
  const webSearch = { type: 'web_search' }
  const { tools, model: watched, ...rest } = eager({ model, tools: [look, send, webSearch] }, { look: 'read' })
  expect([tools[0] === look, tools[1] === send, tools[2] === webSearch]).toEqual([false, true, true])
  expect(tools[0]).toBeInstanceOf(look.constructor)
  expect(watched).toBeInstanceOf(Scripted)
  expect(rest).toEqual({})
})

test('writes to the tool and the model reach the original objects, and methods are called on them (R1)', async () => {
  class Own extends Scripted {
    readonly #secret: string = 'secret'
    note = ''
    secret(): string {
      return this.#secret
    }
  }
  const own = new Own([answer])
  const watched = eager({ model: own, tools: [look] }, { look: 'read' }).model
  watched.note = 'written'
  expect([own.note, watched.note, watched.secret()]).toEqual(['written', 'written', 'secret'])
})

test.for(preventing)('%s may prevent calls: nothing starts early, with a warning (R6)', ([name, middleware]) => {
  const warnings: string[] = []
  const onWarning: EagerSettings['onWarning'] = ({ code, message }) => void warnings.push(`${code}: ${message}`)
  const options = { model, tools: [look, send], middleware: [middleware] }
  expect(eager(options, { look: 'read' }, { onWarning })).toBe(options)
  expect(warnings).toEqual([
    `approval-unknown: no tool starts early: ${name} may prevent calls and does not expose for which tools. List them in \`approval\`, which may be empty.`,
  ])
  for (const approval of [[], ['send']]) {
    expect(eager(options, { look: 'read' }, { onWarning, approval })).not.toBe(options)
  }
  expect(warnings).toHaveLength(1)
})

test('a tool of a middleware may be listed in `approval`; it is a barrier, and never early (R6)', async () => {
  const notes: string[] = []
  const peek = tool(() => 'peeked', { name: 'peek', description: 'peeks', schema })
  const played: Played = {
    options: () => ({ middleware: [createMiddleware({ name: 'peeking', tools: [peek] })] }),
    settings: { approval: ['peek'], onStep: () => void notes.push('step') },
    responses: [[begin(0, '1', 'peek'), more(0, a), begin(1, '2', 'look'), more(1, a), wait(100), text('x')], answer],
  }
  const came = await plainAndEager(played)
  expect(came.eager.result).toEqual(came.plain.result)
  expect([came.eager.log, notes]).toEqual([[`100 2 ${a}`], []])
})

test('a call next to a structured response is not executed, which does not count as unused (R7, R10)', async () => {
  const came = await plainAndEager({
    ms: 150,
    options: () => ({ responseFormat: z.object({ city: z.string() }) }),
    responses: [
      [begin(0, '1', 'look'), more(0, a), begin(1, '2', 'shape'), more(1, '{"city":"Rome"}'), wait(100), text('x')],
    ],
    async go(agent) {
      const runs: unknown[] = []
      for (let n = 0; n < 4; n++) runs.push(Reflect.get(await agent.invoke(human()), 'structuredResponse'))
      return runs
    },
  })
  expect(came.eager.result).toEqual(Array.from({ length: 4 }, () => ({ city: 'Rome' })))
  expect(came.eager.result).toEqual(came.plain.result)
  expect([came.plain.log, came.eager.warnings]).toEqual([[], []])
  expect(came.eager.log.slice(-2)).toEqual([`300 1 ${a}`, `400 1 ${a} aborted`])
})

test('effects, keys and the policy receive the checked input (R2)', async () => {
  const heard: unknown[] = []
  const coerced = z.object({ q: z.string(), n: z.coerce.number().default(5) })
  const given: unknown[] = []
  const seen = tool(
    (input) => {
      given.push(input)
      return 'ok'
    },
    { name: 'seen', description: 'sees', schema: coerced },
  )
  const options = {
    model: new Scripted([[begin(0, '1', 'seen', '{"q":"a","n":"7"}'), wait(50), text('x')], answer]),
    tools: [seen],
  }
  const effects = {
    seen: {
      effect: (input: unknown) => {
        heard.push(input)
        return 'read' as const
      },
    },
  }
  const agent = createAgent(eager(options, effects, { alwaysStream: true }) as never)
  const result = await settled(agent.invoke(human()).then(shown))
  expect(result).toEqual(['human: go', 'ai: x', 'tool 1: ok', 'ai: done'])
  expect([heard, given]).toEqual([[{ q: 'a', n: 7 }], [{ q: 'a', n: 7 }]])
})

test('a tool receives nothing that is only for the model (R2)', async () => {
  const told: (readonly string[])[] = []
  const came = await plainAndEager({
    look: () => (_, runtime) => {
      told.push(Object.keys(runtime).toSorted())
    },
    options: () => ({
      middleware: [
        createMiddleware({
          name: 'settings',
          wrapModelCall: (request, ask) => ask({ ...request, modelSettings: { strict: true } }),
        }),
      ],
    }),
    responses: [looks(), answer],
  })
  expect(came.eager.log).toEqual([`0 1 ${a}`])
  expect(told[1]).toEqual(told[0])
})

test('a middleware that replaces the model’s config is observed, too (R2)', async () => {
  const came = await plainAndEager({
    options: () => ({
      middleware: [
        createMiddleware({
          name: 'tagging',
          wrapModelCall: (request, ask) =>
            ask({ ...request, model: Object(request.model).withConfig({ tags: ['mine'] }) }),
        }),
      ],
    }),
    responses: [looks(), answer],
  })
  expect(came.eager.result).toEqual(came.plain.result)
  expect(came.eager.log).toEqual([`0 1 ${a}`])
})

test('after a model has changed arguments, closed calls wait for their seals for the rest of the run (R9)', async () => {
  const changing = [
    begin(0, '1', 'look'),
    more(0, a),
    wait(50),
    more(0, ' ,"n":1}'),
    begin(1, '2', 'look', a),
    wait(50),
    text('x'),
  ]
  const came = await played({ ms: 10, responses: [changing, looks('3'), answer] }, true)
  expect(came.warnings).toEqual(['breaker'])
  expect(came.log.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual(['0 1', '50 2', '200 3'])
})

test('onStep receives the savings of a step when the next one begins (R13)', async () => {
  const steps: StepSavings[] = []
  const settings = { onStep: (savings: StepSavings) => void steps.push(savings) }
  await played({ ms: 60, settings, responses: [looks(), looks('2'), answer] }, true)
  expect(
    steps.map(({ step, savedMs, calls }) => [step, savedMs, calls.map(({ callId, outcome }) => [callId, outcome])]),
  ).toEqual([
    [1, 60, [['1', 'committed']]],
    [2, 60, [['2', 'committed']]],
  ])
})

test('a run that is aborted, or that throws, leaves no timer and no early call (R7)', async () => {
  const came = await played({ ms: 5_000, responses: [[...looks('1', 'a', 10), breaks()]] }, true)
  expect(came.log).toEqual([`0 1 ${a}`, `10 1 ${a} aborted`])
  expect(vi.getTimerCount()).toBe(0)
})
