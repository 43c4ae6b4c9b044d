import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { checkCount } from '../calls.ts'
import {
  agentTool,
  type ConfigError,
  checkOptions,
  createAgent,
  type Effect,
  runLocal,
  runTool,
  type Tool,
  tool,
} from '../index.ts'

const NAMES = { instructions: 'system systemPrompt', maxSteps: 'maxTurns', tools: '', settings: 'temperature' }

function problemOf(options: object, of?: string): Pick<ConfigError, 'option' | 'message'> | undefined {
  try {
    checkOptions('createAgent', options, NAMES, of)
    return undefined
  } catch (error) {
    const { option, message } = error as ConfigError
    return { option, message }
  }
}

test.each([
  ['sytem', 'did you mean instructions?'],
  ['system', 'did you mean instructions?'],
  ['intsructions', 'did you mean instructions?'],
  ['steps', 'did you mean maxSteps?'],
  ['maxsteps', 'did you mean maxSteps?'],
  ['MaxTurn', 'did you mean maxSteps?'],
  ['tool', 'did you mean tools?'],
  ['temprature', 'did you mean settings?'],
  ['verbose', 'the options are: instructions, maxSteps, tools, settings'],
  ['', 'the options are: instructions, maxSteps, tools, settings'],
  ['__proto', 'the options are: instructions, maxSteps, tools, settings'],
])('an unknown option %j is refused with the nearest name, or with all names (P23)', (option, hint) => {
  const message = `${option}: is not an option of createAgent; ${hint}`
  expect(problemOf({ tools: [], [option]: 1 })).toEqual({ option, message })
  expect(problemOf({ [option]: 1 }, 'agent.')).toEqual({ option: `agent.${option}`, message: `agent.${message}` })
})

test('undefined options and inherited members are not options, and long names are cut in the error (P23)', () => {
  expect(problemOf({ sytem: undefined, tools: [] })).toBeUndefined()
  expect(problemOf({ toString: 1 })).toMatchObject({ option: 'toString' })
  expect(problemOf({ ['x'.repeat(1e6)]: 1 })?.message.length).toBeLessThan(200)
  for (const wrong of [[], 'all', 3, null]) expect(problemOf(wrong as never)).toMatchObject({ option: 'options' })
  expect(problemOf([], 'budget.')).toEqual({
    option: 'budget',
    message: 'budget: must be an object with the options of createAgent',
  })
})

const model = scriptedModel([respond(say('Hi.'))])
const input = z.object({})
const plain = tool({ name: 'look', description: 'l', input, execute: () => 'seen' })
const agent = createAgent({ model, name: 'inner', description: 'i' })

const refused: readonly (readonly [option: string, hint: string, make: (given: never) => unknown, given: unknown])[] = [
  ['sytem', 'createAgent; did you mean instructions?', createAgent, { model, sytem: 'Be brief.' }],
  ['temperature', 'createAgent; did you mean settings?', createAgent, { model, temperature: 0 }],
  ['maxTurns', 'createAgent; did you mean maxSteps?', createAgent, { model, maxTurns: 3 }],
  ['settings.temprature', 'did you mean temperature?', createAgent, { model, settings: { temprature: 0 } }],
  ['inputLimits.chars', 'the options are: characters, depth', createAgent, { model, inputLimits: { chars: 1 } }],
  ['telemetry.tracer', 'did you mean tracerProvider?', createAgent, { model, telemetry: { tracer: {} } }],
  [
    'middleware.a.order.outsides',
    'did you mean outside?',
    createAgent,
    { model, middleware: [{ name: 'a', order: { outsides: ['b'] } }] },
  ],
  ['tools.look.inputSchema', 'tool; did you mean input?', tool, { ...plain, inputSchema: input }],
  ['tools.look.parameters', 'tool; did you mean input?', tool, { ...plain, parameters: input }],
  ['tools.look.timeuot', 'tool; did you mean timeout?', tool, { ...plain, timeuot: 5 }],
  ['func', 'tool; did you mean execute?', tool, { func: () => 1 }],
  [
    'tools.look.inputSchema',
    'tool; did you mean input?',
    createAgent,
    { model, tools: [{ name: 'look', description: 'l', inputSchema: input, execute: () => 'seen' }] },
  ],
  [
    'tools.look.aliases.name',
    'did you mean names?',
    createAgent,
    { model, tools: [{ ...plain, aliases: { name: ['see'] } }] },
  ],
  [
    'tools.look.concurrency.limits',
    'did you mean limit?',
    createAgent,
    { model, tools: [{ ...plain, concurrency: { limits: 3 } }] },
  ],
  [
    'tools.look.background.atend',
    'did you mean atEnd?',
    createAgent,
    { model, tools: [{ ...plain, background: { atend: 'cancel' } }] },
  ],
  ['shema', 'runLocal; did you mean schema?', runLocal, { key: 'k', schema: z.number(), initial: 0, shema: 1 }],
  ['inputSchema', 'agentTool; did you mean input?', (given) => agentTool(agent, given), { inputSchema: input }],
  ['paces', 'scriptedModel; did you mean pace?', (given) => scriptedModel([], given), { paces: {} }],
]

test.each(refused)(
  'an option %s that does not exist is refused by a ConfigError with the correct spelling: %s (P23)',
  (option, hint, make, given) => {
    expect(() => make(given as never)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option, message: expect.stringContaining(hint) as string }),
    )
  },
)

test.each<[string, string, (given: object) => Promise<unknown>]>([
  ['run', 'a run', (given) => agent.run('Go', given)],
  ['stream', 'a run', (given) => agent.stream('Go', given).result],
  ['resume', 'a resume', (given) => agent.resume('id', {}, given).result],
])('an unknown option of %s rejects before anything runs (P23)', async (_, what, run) => {
  const message = `maxSteps: is not an option of ${what}, but of createAgent`
  await expect(run({ maxSteps: 3 })).rejects.toMatchObject({ name: 'ConfigError', option: 'maxSteps', message })
  await expect(run({ singal: 3 })).rejects.toThrow('did you mean signal?')
  expect(model.requests).toEqual([])
})

test('only a resume accepts rerun (P23)', async () => {
  const message = 'rerun: is not an option of a run, but of resume'
  const given: object = { rerun: ['read'] }
  await expect(agent.run('Go', given)).rejects.toMatchObject({ name: 'ConfigError', option: 'rerun', message })
  expect(model.requests).toEqual([])
})

test('if there is only one option, the error states that (P23)', () => {
  expect(() =>
    checkOptions<{ instruction: string }>('earlyStop', { max: 1 } as object as { instruction: string }, {
      instruction: '',
    }),
  ).toThrow('max: is not an option of earlyStop; the options are: instruction')
})

test.each<[string, object, string]>([
  ['func', { name: 'look', description: 'l', input, func: () => 1 }, 'did you mean execute?'],
  ['timeot', { ...plain, timeot: 5 }, 'did you mean timeout?'],
])('a tool that is a plain object with %s is refused (P23)', (member, given, hint) => {
  const option = `tools.look.${member}`
  const message = expect.stringContaining(hint) as string
  expect(() => createAgent({ model, tools: [given as Tool] })).toThrow(
    expect.objectContaining({ name: 'ConfigError', option, message }),
  )
})

test('needs that are not members of the input are refused, if the schema shows its members (P23, H31)', () => {
  const needing = (input: Tool['input'], needs: string[]) => () =>
    createAgent({ model, tools: [{ ...plain, input, effect: 'read', needs }] })
  const message = 'tools.look.needs: "zz" is not a member of its input; the members are: a, b'
  const known = z.object({ a: z.string(), b: z.string() })
  expect(needing(known, ['a', 'zz'])).toThrow(expect.objectContaining({ name: 'ConfigError', message }))
  expect(needing(known, ['a'])).not.toThrow()
  expect(needing(z.looseObject({ a: z.string() }), ['zz'])).not.toThrow()
})

test.each([
  ['beforModel', 'beforeModel'],
  ['wrapTool', 'wrapToolCall'],
  ['afterTool', 'wrapToolCall'],
])('a middleware with %s is refused, whatever else it has: %s is meant (P23)', (method, meant) => {
  const middleware = [{ name: 'm', afterModel: () => undefined, [method]: () => undefined }]
  const message = `middleware: "m" has the unknown member ${method}; did you mean ${meant}?`
  expect(() => createAgent({ model, middleware })).toThrow(expect.objectContaining({ name: 'ConfigError', message }))
})

test('unknown options of a cancel and of a tool without a run are refused (P23)', async () => {
  const run = createAgent({ model: scriptedModel([respond(say('Hi.'))]) }).stream('Go')
  await expect(run.cancel({ mode: 'after-tools' } as object)).rejects.toThrow('did you mean at?')
  await expect(run.result).resolves.toMatchObject({ status: 'completed' })
  await expect(runTool(plain, {}, { timout: 5 } as object).result).rejects.toThrow('did you mean timeout?')
})

test.each<[what: string, given: unknown, shown: string]>([
  ['a string', '3', "'3'"],
  ['a long string', 'x'.repeat(1e6), `'${'x'.repeat(64)}…'`],
  ['NaN', Number.NaN, 'NaN'],
  ['null', null, 'null'],
  ['an object', { steps: 3 }, 'an object'],
  ['an object without a prototype', Object.create(null), 'an object'],
  ['a function', () => 3, 'a function'],
  ['a symbol', Symbol('3'), 'Symbol(3)'],
])('the error for a wrong number shows %s as what it is (A2)', (_, given, shown) => {
  const message = `maxSteps: must be a positive integer, or Infinity, not ${shown}`
  expect(() => checkCount('maxSteps', given as number)).toThrow(
    expect.objectContaining({ name: 'ConfigError', message }),
  )
})

test('the error for a common mistake with an effect contains the correct form (P23, A2, Q1)', () => {
  const make = (effect: string) => () => createAgent({ model, tools: [{ ...plain, effect: effect as Effect }] })
  expect(make('write')).toThrow(
    "look has an unknown effect: write. Write 'read' if it changes nothing, 'idempotent' if a second equal call changes nothing more, 'reversible' if compensate undoes it, 'calls' if it only calls other tools, or 'external', the default",
  )
  expect(make('reversible')).toThrow(
    "look has the effect reversible, but no compensate. Write compensate(input, output), which undoes a call, or effect: 'external'",
  )
})

test('additional members are accepted where they are intended: in a tool of a class, a middleware with methods, a tool made from another (P23)', () => {
  class Looking {
    readonly name = 'look'
    readonly description = 'l'
    readonly input = input
    readonly #seen = 'seen'
    readonly label = 'mine'
    execute = () => this.#seen
  }
  const middleware = [{ name: 'counts', counted: 0, reset: () => undefined }]
  const tools = [new Looking(), { ...agentTool(agent), category: 'agents' }, tool({ ...plain, name: 'again' })]
  expect(() => createAgent({ model, tools, middleware })).not.toThrow()
})
