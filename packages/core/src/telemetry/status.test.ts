import {
  call,
  cut,
  end,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { beforeEach, expect, test, vi } from 'vitest'
import { callAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import { durationOf, observed } from '../../test/observed.ts'
import { toolOf } from '../../test/tools.ts'
import {
  AgentError,
  type AgentOptions,
  type AgentRun,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  ModelError,
  runTool,
  TimeoutError,
  type ToolContext,
} from '../index.ts'

// The end of each span: its status, `error.type` and outcome, for everything that can happen to it.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Ends when it is aborted, with its own error. */
const heeding = ({ signal }: ToolContext) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError'))))

const throwing = (error: unknown) => () => {
  throw error
}

const done = respond(say('Done.'))

interface Happening extends Partial<AgentOptions> {
  readonly responses?: readonly ScriptResponse[]
  /** What is done to the run. */
  readonly meanwhile?: (run: AgentRun, controller: AbortController) => void
}

/** Plays a run. Returns its spans, in the order in which they ended, and their exceptions. */
async function happened({ responses = [respond(say('Hi.'))], meanwhile, ...options }: Happening) {
  const { telemetry, spans, watch } = observed()
  const agent = createAgent({ model: scriptedModel(responses), grace: 100, ...options, telemetry })
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  meanwhile?.(run, controller)
  await vi.runAllTimersAsync()
  await run.result.catch(() => undefined)
  watch.assertEndedOnce()
  const ended = spans()
  return { said: ended.map(said), exceptions: exceptionsOf(ended), spans: ended }
}

function said({ name, status, attributes }: ReadableSpan): string {
  const { 'error.type': type, 'meanwhile.outcome': outcome, 'meanwhile.settled': settled } = attributes
  const words = [status.code === 2 && `ERROR ${String(type)}`, outcome, settled === false && 'not settled']
  const description = status.message === undefined ? [] : [`"${status.message}"`]
  return [`${name}:`, ...words.filter(Boolean), ...description].join(' ')
}

function exceptionsOf(spans: readonly ReadableSpan[]): string[] {
  return spans.flatMap(({ name, events }) =>
    events.map((event) => `${name}: ${event.name} ${String(event.attributes?.['exception.type'])}`),
  )
}

const CHAT = 'chat scripted-1: completed'
const RUN = 'invoke_agent: completed'

test('what succeeds has no status', async () => {
  const { said, exceptions } = await happened({
    responses: [respond(call('fine')), done],
    tools: [toolOf('fine', () => 'ok')],
  })
  expect(said).toEqual([CHAT, 'execute_tool fine: committed', CHAT, RUN])
  expect(exceptions).toEqual([])
})

test('a tool that throws is only an error of its span: the model reads it, and the run has handled it', async () => {
  const { said, exceptions } = await happened({
    responses: [respond(call('broken')), done],
    tools: [toolOf('broken', throwing(new RangeError('no')))],
    middleware: [{ name: 'through', wrapToolCall: (call, next) => next(call) }],
  })
  expect(said).toEqual([
    CHAT,
    'middleware through wrapToolCall: ERROR RangeError',
    'execute_tool broken: ERROR RangeError failed',
    CHAT,
    RUN,
  ])
  expect(exceptions).toHaveLength(1)
})

test('a thrown value that is not an Error has no class', async () => {
  const { said, exceptions } = await happened({
    responses: [respond(call('broken')), done],
    tools: [toolOf('broken', throwing('no'))],
  })
  expect(said).toContain('execute_tool broken: ERROR _OTHER failed')
  expect(exceptions).toEqual([])
})

test('unknown tools and input that the schema refuses have their own error types', async () => {
  const { said } = await happened({
    responses: [respond(call('nobody'), call('fine', { n: 'one' })), done],
    tools: [toolOf('fine', () => 'ok')],
  })
  expect(said).toEqual([
    CHAT,
    'execute_tool fine: ERROR invalid_input failed',
    'execute_tool: ERROR unknown_tool failed',
    CHAT,
    RUN,
  ])
})

test('a tool and a model call past their time limit are errors called timeout', async () => {
  const late: Middleware = {
    name: 'late',
    async *wrapModel(request, next) {
      const controller = new AbortController()
      setTimeout(() => controller.abort(new TimeoutError('model', 50)), 50)
      return yield* next({ ...request, signal: controller.signal })
    },
  }
  const tools = [toolOf('slow', heeding, { timeout: 80 })]
  const ofTool = await happened({ responses: [respond(call('slow')), done], tools })
  expect(ofTool.said).toEqual([
    CHAT,
    'execute_tool slow: ERROR timeout failed "the tool took longer than 80 ms"',
    CHAT,
    RUN,
  ])
  const ofModel = await happened({ responses: [respond(wait(500), say('.'))], middleware: [late] })
  const description = '"the model took longer than 50 ms"'
  expect(ofModel.said).toEqual([
    `chat scripted-1: ERROR timeout failed ${description}`,
    `middleware late wrapModel: ERROR TimeoutError ${description}`,
    `invoke_agent: ERROR TimeoutError failed ${description}`,
  ])
  expect(ofModel.exceptions).toEqual(['chat scripted-1: exception TimeoutError'])
})

test('a discarded call is not an error, settled or aborted by us, and ends when its function has', async () => {
  const { said, exceptions, spans } = await happened({
    responses: [respond(wait(50), call('quick'), call('slow'), wait(200), say('.')), done],
    tools: [toolOf('quick', () => sleep(30)), toolOf('slow', heeding)],
    middleware: [withdrawing(), early],
  })
  expect(said).toContain('execute_tool quick: discarded')
  expect(said).toContain('execute_tool slow: discarded')
  expect(exceptions).toEqual([])
  const tools = spans.filter(({ name }) => name.startsWith('execute_tool'))
  expect(tools.map((span) => [span.name, durationOf(span), span.attributes['meanwhile.discard.reason']])).toEqual([
    ['execute_tool quick', 0.03, 'call_withdrawn'],
    ['execute_tool slow', 0.2, 'call_withdrawn'],
  ])
})

test('a discarded call that had thrown by itself is an error, even if its wrap was about to try again', async () => {
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(call, next, run) {
      try {
        return yield* next(call)
      } catch (error) {
        if (call.name === 'once') throw error
        await new Promise((_, reject) => run.signal.addEventListener('abort', () => reject(run.signal.reason as Error)))
        return yield* next(call)
      }
    },
  }
  const broken = throwing(new RangeError('no'))
  const { said, exceptions } = await happened({
    responses: [respond(call('once'), call('twice'), wait(200), say('.')), done],
    tools: [toolOf('once', broken), toolOf('twice', broken)],
    middleware: [withdrawing(), again, early],
  })
  expect(said.filter((line) => /execute_tool|again/.test(line)).toSorted()).toEqual([
    'execute_tool once: ERROR RangeError discarded',
    'execute_tool twice: ERROR RangeError discarded',
    'middleware again wrapToolCall:',
    'middleware again wrapToolCall: ERROR RangeError',
  ])
  expect(exceptions).toHaveLength(1)
})

test('what the caller cancels is not an error: a call, the run at its model, the run at its tools', async () => {
  const slow = toolOf('slow', heeding)
  const through: Middleware = { name: 'through', wrapToolCall: (call, next) => next(call) }
  const ofCall = await happened({
    responses: [respond(call('slow', {}, { id: 'c' })), done],
    tools: [slow],
    middleware: [through],
    meanwhile: (run) => setTimeout(() => run.cancelTool('c'), 50),
  })
  expect(ofCall.said).toEqual([CHAT, 'middleware through wrapToolCall:', 'execute_tool slow: cancelled', CHAT, RUN])
  const stops: readonly Happening['meanwhile'][] = [
    (run) => setTimeout(() => void run.cancel(), 50),
    (_, controller) => setTimeout(() => controller.abort(), 50),
  ]
  for (const meanwhile of stops) {
    const atModel = await happened({ responses: [respond(wait(500), say('.'))], ...(meanwhile && { meanwhile }) })
    expect(atModel.said).toEqual(['chat scripted-1: cancelled', 'invoke_agent: cancelled'])
    const atTools = await happened({
      responses: [respond(call('slow'))],
      tools: [slow],
      middleware: [through],
      ...(meanwhile && { meanwhile }),
    })
    expect(atTools.said).toEqual([
      CHAT,
      'middleware through wrapToolCall:',
      'execute_tool slow: cancelled',
      'invoke_agent: cancelled',
    ])
    expect([...ofCall.exceptions, ...atModel.exceptions, ...atTools.exceptions]).toEqual([])
  }
})

test('a function that is still running when nothing waits for it has not settled; its later outcome is not recorded', async () => {
  const deaf = toolOf('deaf', async () => {
    await sleep(5_000)
    throw new RangeError('much later')
  })
  const aborted = await happened({
    responses: [respond(call('deaf'))],
    tools: [deaf],
    meanwhile: (_, controller) => setTimeout(() => controller.abort(), 50),
  })
  expect(aborted.said).toEqual([CHAT, 'execute_tool deaf: abandoned not settled', 'invoke_agent: cancelled'])
  const discarded = await happened({
    responses: [respond(call('deaf'), wait(50), say('.')), done],
    tools: [deaf],
    middleware: [withdrawing(), early],
  })
  expect(discarded.said).toContain('execute_tool deaf: abandoned not settled')
  const late = await happened({
    responses: [respond(call('deaf')), done],
    tools: [{ ...deaf, timeout: 50 }],
  })
  expect(late.said[1]).toMatch(/^execute_tool deaf: ERROR timeout failed not settled "/)
  expect([aborted, discarded].flatMap(({ exceptions }) => exceptions)).toEqual([])
  expect(late.exceptions).toEqual(['execute_tool deaf: exception ToolTimeoutError'])
  for (const { spans } of [aborted, discarded, late]) {
    const [span] = spans.filter(({ name }) => name === 'execute_tool deaf')
    expect(span && durationOf(span)).toBe(0.15)
  }
})

const asks: readonly (readonly [string, Happening, readonly string[]])[] = [
  [
    'a tool',
    { tools: [toolOf('ask', () => interrupt())] },
    [CHAT, 'execute_tool ask: interrupted', 'invoke_agent: interrupted'],
  ],
  [
    'a hook',
    { middleware: [{ name: 'asking', afterModel: () => interrupt() }] },
    [CHAT, 'middleware asking afterModel:', 'invoke_agent: interrupted'],
  ],
  [
    'a wrap round a tool',
    { middleware: [{ name: 'asking', wrapToolCall: () => interrupt() }], tools: [toolOf('ask', () => 'ok')] },
    [CHAT, 'middleware asking wrapToolCall:', 'invoke_agent: interrupted'],
  ],
]

test.for(asks)('%s that asks is not an error: it is interrupted, and so is the run', async ([, options, expected]) => {
  const { said, exceptions } = await happened({ responses: [respond(call('ask'))], ...options })
  expect(said).toEqual(expected)
  expect(exceptions).toEqual([])
})

test('a stand-alone tool that asks is interrupted, too (L12)', async () => {
  const { telemetry, span } = observed()
  const error = await runTool(
    toolOf('ask', () => interrupt()),
    {},
    { telemetry },
  ).result.catch((error) => error)
  expect(error).toMatchObject({ name: 'Interrupt' })
  expect(said(span('execute_tool ask'))).toBe('execute_tool ask: interrupted')
})

const throwingModel = (error: unknown): Model => ({ provider: 'own', id: 'own-1', stream: throwing(error) })
const failures: readonly (readonly [string, Happening, string, string])[] = [
  ['its status', { responses: [respond(fail({ status: 401 }))] }, 'chat scripted-1: ERROR 401 failed', 'error'],
  [
    'its status, inside the stream',
    { responses: [respond(say('So'), fail({ status: 529 }))] },
    'chat scripted-1: ERROR 529 failed',
    'error',
  ],
  [
    'nothing of the provider’s code (P13)',
    { model: throwingModel(new ModelError('no', { code: 'overloaded', retryable: true })) },
    'chat own-1: ERROR _OTHER failed',
    'error',
  ],
  ['its class', { model: throwingModel(new TypeError('no')) }, 'chat own-1: ERROR TypeError failed', 'error'],
  [
    'that no finish reason came',
    { responses: [respond(say('So'), cut())] },
    'chat scripted-1: ERROR stream_truncated failed',
    'error',
  ],
  [
    'that the reason was an error',
    { responses: [respond(say('So'), end({ finishReason: 'error' }))] },
    'chat scripted-1: ERROR finish_reason_error failed',
    'error',
  ],
]

test.for(failures)(
  'a model call that fails has the type %s; the run, in which nothing handled it, its class',
  async ([, options, chat, reason]) => {
    const { said, exceptions, spans } = await happened(options)
    expect(said).toEqual([chat, 'invoke_agent: ERROR ModelError failed'])
    expect(exceptions).toHaveLength(1)
    expect(spans.map(({ attributes }) => attributes['gen_ai.response.finish_reasons'])).toEqual([[reason], ['error']])
  },
)

test.for(['length', 'content-filter'] as const)(
  'a response that ends with %s is not an error',
  async (finishReason) => {
    const { said, spans } = await happened({ responses: [respond(say('So'), end({ finishReason }))] })
    expect(said).toEqual([CHAT, RUN])
    expect(spans.map(({ attributes }) => attributes['gen_ai.response.finish_reasons'])).toEqual([
      [finishReason],
      [finishReason],
    ])
  },
)

test('finish reasons are in the provider’s own words, on the chat and on the run; also for a failed response', async () => {
  const scripted = scriptedModel([respond(say('Hi.'))])
  const response = { id: 'r-1', model: 'm-1-0925', finishReason: 'end_turn' }
  const model: Model = {
    ...scripted,
    async *stream(request) {
      const message = yield* scripted.stream(request)
      return { ...message, response }
    },
  }
  const { spans } = await happened({ model })
  expect(spans.map(({ attributes }) => attributes['gen_ai.response.finish_reasons'])).toEqual([
    ['end_turn'],
    ['end_turn'],
  ])
  const message = { role: 'assistant', content: [], finishReason: 'error' } as const
  const partial = { ...message, response: { ...response, finishReason: 'malformed' }, usage: { inputTokens: 3 } }
  const refused = throwingModel(new ModelError('no', { code: 'finish_reason_error', retryable: true, partial }))
  const [chat] = (await happened({ model: refused })).spans
  expect(chat?.attributes).toMatchObject({
    'gen_ai.response.id': 'r-1',
    'gen_ai.response.model': 'm-1-0925',
    'gen_ai.response.finish_reasons': ['malformed'],
    'gen_ai.usage.input_tokens': 3,
  })
})

test('a run without an answer is an error, and so is one that a tool ends', async () => {
  const atLimit = await happened({
    responses: [respond(call('fine'))],
    tools: [toolOf('fine', () => 'ok')],
    maxSteps: 1,
  })
  expect(atLimit.said).toEqual([CHAT, 'invoke_agent: ERROR MaxStepsError failed "no final answer within 1 step"'])
  expect(atLimit.exceptions).toEqual(['invoke_agent: exception MaxStepsError'])
  // The feedback of a gate may contain the model's response.
  const rejected = await happened({
    middleware: [{ name: 'gate', beforeFinalAnswer: () => ({ accept: false, feedback: 'secret' }) }],
    maxSteps: 1,
  })
  expect(rejected.said.at(-1)).toBe(atLimit.said.at(-1))
  expect(JSON.stringify(rejected.spans.flatMap(({ events, status }) => [events, status]))).not.toContain('secret')
  class Fatal extends AgentError {
    override readonly name = 'Fatal'
  }
  const byTool = await happened({
    responses: [respond(call('fatal'))],
    tools: [toolOf('fatal', throwing(new Fatal('no')))],
  })
  expect(byTool.said).toEqual([CHAT, 'execute_tool fatal: ERROR Fatal failed', 'invoke_agent: ERROR Fatal failed'])
  expect(byTool.exceptions).toEqual(['execute_tool fatal: exception Fatal'])
})

const boom = throwing(new RangeError('boom'))
const places = ['beforeAgent', 'beforeModel', 'afterModel', 'beforeFinalAnswer', 'wrapAgent', 'wrapModel'] as const

test.for(places)('%s that throws is an error of the class it threw, recorded only there', async (place) => {
  const { said, exceptions, spans } = await happened({ middleware: [{ name: 'faulty', [place]: boom }] })
  expect(said.filter((line) => !line.startsWith('chat'))).toEqual([
    `middleware faulty ${place}: ERROR RangeError`,
    'invoke_agent: ERROR MiddlewareError failed',
  ])
  expect(exceptions).toEqual([`middleware faulty ${place}: exception RangeError`])
  const [event] = spans.flatMap(({ events }) => events)
  // It leads to where it was thrown.
  expect(event?.attributes?.['exception.stacktrace']).toContain('status.test.ts')
})

test('wrapToolCall that throws is an error of its span; its call and run are not affected', async () => {
  const { said, exceptions } = await happened({
    responses: [respond(call('fine')), done],
    tools: [toolOf('fine', () => 'ok')],
    middleware: [{ name: 'faulty', wrapToolCall: boom }],
  })
  expect(said).toEqual([CHAT, 'middleware faulty wrapToolCall: ERROR RangeError', CHAT, RUN])
  expect(exceptions).toEqual(['middleware faulty wrapToolCall: exception RangeError'])
})

test('a wrap that answers without next has the outcome, and no child spans', async () => {
  const cache: Middleware = {
    name: 'cache',
    async *wrapToolCall({ id, name }) {
      const isError = name === 'denied'
      return { role: 'tool', callId: id, name, content: [], ...(isError && { isError }) }
    },
  }
  const { said, spans } = await happened({
    responses: [respond(call('kept'), call('denied'), wait(50), say('.')), done],
    tools: [toolOf('kept', () => 'ok'), toolOf('denied', () => 'ok')],
    middleware: [cache, early],
  })
  expect(said.filter((line) => line.includes('cache'))).toEqual([
    'middleware cache wrapToolCall: committed',
    'middleware cache wrapToolCall: failed',
  ])
  // They ended when they had answered, not when the call was requested.
  const cached = spans.filter(({ name }) => name.startsWith('middleware cache'))
  expect(cached.map((span) => [durationOf(span), span.attributes['meanwhile.middleware.next_calls']])).toEqual([
    [0, 0],
    [0, 0],
  ])

  const taken = await happened({
    responses: [respond(call('kept'), wait(50), say('.')), done],
    tools: [toolOf('kept', () => 'ok')],
    middleware: [withdrawing(), cache, early],
  })
  const [span] = taken.spans.filter(({ name }) => name.startsWith('middleware cache'))
  expect(span?.attributes).toMatchObject({
    'meanwhile.outcome': 'discarded',
    'meanwhile.discard.reason': 'call_withdrawn',
  })

  const answer = { role: 'assistant', content: [{ type: 'text', text: 'Hi.' }], finishReason: 'stop' } as const
  const answers: Middleware = {
    name: 'cache',
    async *wrapModel() {
      return answer
    },
  }
  expect((await happened({ middleware: [answers] })).said).toEqual(['middleware cache wrapModel: completed', RUN])
})

test('a discarded call that had happened was undone, or that is an error', async () => {
  const undoing = (compensate: () => void) =>
    happened({
      responses: [respond(call('move'), wait(50), say('.')), done],
      tools: [toolOf('move', () => 'moved', { effect: 'reversible', compensate })],
      middleware: [withdrawing(), early],
    })
  const undone = await undoing(() => undefined)
  expect(undone.said).toContain('execute_tool move: discarded')
  const stays = await undoing(boom)
  expect(stays.said).toContain('execute_tool move: ERROR compensation_failed discarded')
  const marks = [undone, stays].flatMap(({ spans }) =>
    spans.map(({ attributes }) => attributes['meanwhile.compensated']),
  )
  expect(marks.filter((mark) => mark !== undefined)).toEqual([true, false])
})

test('a discarded call that had failed by itself needs no undo; the outcome of an undo is recorded besides what had happened', async () => {
  const undoing = async (compensate: () => void) => {
    const move = ({ attempt }: ToolContext) => {
      if (attempt === 1) throw new RangeError('not yet')
      return 'moved'
    }
    const { said, spans } = await happened({
      responses: [respond(call('move'), wait(50), say('.')), done],
      tools: [toolOf('move', move, { effect: 'reversible', compensate })],
      middleware: [withdrawing(), callAgain, early],
    })
    const executions = spans.filter(({ name }) => name === 'execute_tool move')
    return {
      said: said.filter((line) => line.startsWith('execute_tool')),
      compensated: executions.map(({ attributes }) => attributes['meanwhile.compensated']),
    }
  }
  expect(await undoing(() => undefined)).toEqual({
    said: ['execute_tool move: ERROR RangeError discarded', 'execute_tool move: discarded'],
    compensated: [undefined, true],
  })
  expect(await undoing(boom)).toEqual({
    said: ['execute_tool move: ERROR RangeError discarded', 'execute_tool move: ERROR compensation_failed discarded'],
    compensated: [undefined, false],
  })
})

test('an error that other code made from a recorded one is a separate exception; our own error that replaces it is not', async () => {
  const told = async (made: (cause: unknown) => Error) => {
    const wrapping: Middleware = {
      name: 'wrapping',
      async *wrapModel(request, next) {
        try {
          return yield* next(request)
        } catch (cause) {
          throw made(cause)
        }
      },
    }
    return (await happened({ responses: [respond(fail())], middleware: [wrapping] })).exceptions
  }
  const ofModel = 'chat scripted-1: exception ModelError'
  expect(await told((cause) => new AgentError('and so', { cause }))).toEqual([ofModel])
  expect(await told((cause) => new TypeError('and so', { cause }))).toEqual([
    ofModel,
    'middleware wrapping wrapModel: exception TypeError',
  ])
})

test('the status contains that a tool was busy even without content: it consists of names and numbers', async () => {
  const busy = { ...toolOf('busy', () => sleep(50)), concurrency: { limit: 1, whenFull: 'fail' } as const }
  const { said } = await happened({
    responses: [respond(call('busy', { n: 1 }), call('busy', { n: 2 })), done],
    tools: [busy],
    middleware: [{ name: 'through', wrapToolCall: (call, next) => next(call) }],
  })
  expect(said.filter((line) => line.includes('ToolBusyError'))).toEqual([
    expect.stringMatching(/^middleware through wrapToolCall: ERROR ToolBusyError ".*already running 1 call.*"$/),
    expect.stringMatching(/^execute_tool busy: ERROR ToolBusyError failed ".*already running 1 call.*"$/),
  ])
})
